// Runs the simulation over many seeds, or one again by its seed.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdint>

#include "tictactoe/game_run.hpp"

namespace {

using tictactoe::simulation::run_game;
using tictactoe::simulation::RunReport;

// Exit codes, so that whoever bisects can tell them apart; a crash ends by its signal.
constexpr int exit_wrong = 1;
constexpr int exit_usage = 2;
constexpr int exit_stuck = 3;

// Every so many seeds one runs twice: its two traces must be equal.
constexpr std::uint64_t repeat_every = 16;

struct Totals {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t drops = 0;
  std::uint64_t draws = 0;
  int exit_code = 0;
};

void report_failure(std::uint64_t seed, const RunReport& report) {
  const bool is_stuck = report.verdict == RunReport::Verdict::Stuck;
  fmt::print("seed {}: {}\n", seed, is_stuck ? "STUCK" : "WRONG");
  for (const auto& fault : report.faults) fmt::print("  {}\n", fault);
  fmt::print("{}  again: ./tests/simulate.sh --replay {}\n", report.trace, seed);
}

void run_seed(std::uint64_t seed, bool runs_twice, Totals& totals) {
  RunReport report = run_game(seed);
  if (runs_twice && run_game(seed).trace_hash != report.trace_hash) {
    report.verdict = RunReport::Verdict::Wrong;
    report.faults.emplace_back("two runs of this seed have different traces");
  }
  totals.drops += report.drops;
  totals.draws += report.was_draw ? 1 : 0;
  if (report.verdict == RunReport::Verdict::Correct) {
    ++totals.passed;
    return;
  }
  ++totals.failed;
  report_failure(seed, report);
  const bool is_stuck = report.verdict == RunReport::Verdict::Stuck;
  totals.exit_code = is_stuck ? exit_stuck : exit_wrong;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seeds = 1000;
  std::uint64_t from = 1;
  std::uint64_t replayed = 0;
  CLI::App app(
      "Simulates whole games of TicTacToe on a node with a slow and faulty store, reordered turns\n"
      "and clients that lose their connections. Example: simulate --seeds 200 --from 5000");
  app.add_option("--seeds", seeds, "how many seeds to run")->check(CLI::Range(1, 10'000'000));
  app.add_option("--from", from, "the first seed")->check(CLI::NonNegativeNumber);
  const auto* replay =
      app.add_option("--replay", replayed, "run this one seed and print its trace");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_usage;
  }

  Totals totals;
  if (replay->count() > 0) {
    const RunReport report = run_game(replayed);
    fmt::print("seed {}: trace hash {:016x}\n", replayed, report.trace_hash);
    run_seed(replayed, true, totals);
  } else {
    for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
      run_seed(seed, seed % repeat_every == 0, totals);
    }
    fmt::print("seeds {}..{}: {} lost connections, {} draws\n", from, from + seeds - 1,
               totals.drops, totals.draws);
  }
  fmt::print("{} passed, {} failed\n", totals.passed, totals.failed);
  return totals.exit_code;
}
