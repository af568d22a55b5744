// Runs the simulation over many seeds, over those that once found a defect, or one again.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "known_seeds.hpp"
#include "probe/apart.hpp"
#include "probe/workload.hpp"
#include "seed_runner.hpp"
#include "tictactoe/game_run.hpp"

namespace {

using simulation::Ending;
using simulation::NamedScenario;
using simulation::SeedResult;
using simulation::SeedRun;

template <typename Verdict>
Ending ending_of(Verdict verdict) {
  if (verdict == Verdict::Correct) return Ending::Correct;
  return verdict == Verdict::Stuck ? Ending::Stuck : Ending::Wrong;
}

std::vector<std::string> fault_kinds() {
  std::vector<std::string> kinds;
  for (const auto& fault : spotmesh::testing::all_faults()) kinds.emplace_back(fault->name());
  return kinds;
}

NamedScenario of(spotmesh::testing::Scenario scenario, bool wants_trace) {
  scenario.wants_trace = wants_trace;
  return {scenario.name, [scenario, kinds = fault_kinds()](std::uint64_t seed) {
            const auto report = spotmesh::testing::simulate(scenario, seed);
            SeedResult result{.ending = ending_of(report.verdict),
                              .trace_hash = report.trace_hash,
                              .text = report.text()};
            for (const auto& struck : report.strikes) {
              const auto kind = std::ranges::find(kinds, struck.fault) - kinds.begin();
              result.strikes.at(static_cast<std::size_t>(kind)) = {struck.all, struck.early};
            }
            return result;
          }};
}

SeedResult run_tictactoe(std::uint64_t seed, bool wants_trace) {
  const auto report = tictactoe::simulation::run_game(seed, wants_trace);
  SeedResult result{
      .ending = ending_of(report.verdict),
      .trace_hash = report.trace_hash,
      .text = report.verdict == decltype(report.verdict)::Correct ? "correct\n" : "\n"};
  for (const auto& fault : report.faults) result.text += fmt::format("  {}\n", fault);
  result.text += report.trace;
  return result;
}

std::vector<NamedScenario> all_scenarios(bool wants_trace) {
  return {of(probe::alone(), wants_trace),
          of(probe::together(), wants_trace),
          of(probe::apart(), wants_trace),
          {"tictactoe",
           [wants_trace](std::uint64_t seed) { return run_tictactoe(seed, wants_trace); }}};
}

struct Wish {
  std::uint64_t seeds = 300;
  std::uint64_t from = 0;
  std::uint64_t replayed = 0;
  double longest_median_ms = 0;
  bool is_replay = false;
  bool known_only = false;
  bool wants_trace = false;
  bool wants_each_fault = false;
  std::string scenario;
};

// What to run: each seed in turn with another scenario, unless one was named.
std::vector<SeedRun> plan(const Wish& wish, const std::vector<NamedScenario>& scenarios) {
  std::vector<SeedRun> runs;
  const auto named = [&](std::string_view name) {
    return std::ranges::find(scenarios, name, &NamedScenario::name);
  };
  if (!wish.is_replay) {
    for (const auto& known : simulation::known_seeds) {
      if (!wish.scenario.empty() && wish.scenario != known.scenario) continue;
      runs.push_back({&*named(known.scenario), known.seed, std::string(known.why)});
    }
  }
  if (wish.known_only) return runs;
  const std::uint64_t first = wish.is_replay ? wish.replayed : wish.from;
  const std::uint64_t end = wish.is_replay ? first + 1 : first + wish.seeds;
  for (std::uint64_t seed = first; seed < end; ++seed) {
    const NamedScenario& scenario =
        wish.scenario.empty() ? scenarios[seed % scenarios.size()] : *named(wish.scenario);
    runs.push_back({&scenario, seed, {}});
  }
  return runs;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  for (const auto& scenario : all_scenarios(false)) names.push_back(scenario.name);

  Wish wish;
  CLI::App app(
      "Simulates clusters under faults, a run for each seed, after the seeds that are known.\n"
      "Exit codes: 0 all correct, 1 wrong, 2 usage, 3 stuck, 4 crashed.\n"
      "Example: simulate --seeds 200 --from 5000");
  app.add_option("--seeds", wish.seeds, "how many fresh seeds to run")
      ->check(CLI::Range(1, 10'000'000));
  const auto* from = app.add_option("--from", wish.from,
                                    "the first seed; else SIMULATE_SEEDS_FROM, else one of the "
                                    "clock's")
                         ->envname("SIMULATE_SEEDS_FROM")
                         ->check(CLI::NonNegativeNumber);
  app.add_option("--scenario", wish.scenario, "only this scenario")->check(CLI::IsMember(names));
  app.add_option("--median-below", wish.longest_median_ms,
                 "wrong also when the median seed takes more milliseconds of processor time")
      ->check(CLI::PositiveNumber);
  app.add_flag("--known", wish.known_only, "only the seeds that have once found a defect");
  app.add_flag("--each-fault", wish.wants_each_fault,
               "wrong also when a kind of fault has never struck, or never early");
  auto* replay = app.add_option("--replay", wish.replayed, "run this one seed, twice");
  app.add_flag("--trace", wish.wants_trace,
               "print the trace of the replayed seed also when it is correct")
      ->needs(replay);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : simulation::exit_usage;
  }
  wish.is_replay = replay->count() > 0;
  if (from->count() == 0) {
    // Seeds that nobody has run yet.
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    wish.from = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  }

  const std::vector<NamedScenario> scenarios = all_scenarios(wish.wants_trace);
  const auto runs = plan(wish, scenarios);
  if (!wish.known_only && !wish.is_replay) {
    fmt::print("seeds {}..{}\n", wish.from, wish.from + wish.seeds - 1);
  }
  return simulation::run_seeds(
      runs, {.longest_median_ms = wish.longest_median_ms,
             .prints_all = wish.wants_trace,
             .fault_kinds = wish.is_replay ? std::vector<std::string>() : fault_kinds(),
             .wants_each_fault = wish.wants_each_fault,
             .replay_command = "./tests/simulate.sh --scenario {scenario} --replay {seed}"});
}
