#include "game_run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <spotmesh/testing/cluster.hpp>

#include "rules/board.hpp"
#include "server/game.hpp"
#include "sim_player.hpp"
#include "testing/sim_random.hpp"

namespace tictactoe::simulation {
namespace {

using namespace std::chrono_literals;
using spotmesh::Duration;
using spotmesh::testing::Cluster;
using spotmesh::testing::ClusterOptions;
using spotmesh::testing::SimRandom;

constexpr Duration round_limit = 10min;

// The conditions of a run, drawn from its seed.
struct Weather {
  ClusterOptions cluster;
  Habits habits;
  unsigned unavailable_per_mille = 0;
  unsigned unknown_per_mille = 0;
};

Weather draw_weather(std::uint64_t seed, SimRandom& random) {
  const auto chance = [&random](std::uint64_t one_in) { return random_below(random, one_in) == 0; };
  Weather weather;
  weather.cluster.seed = seed;
  if (chance(2)) weather.cluster.longest_store_latency = 50ms;  // a slow store
  if (chance(4)) weather.cluster.longest_store_latency = 400ms;
  if (chance(3)) weather.cluster.longest_link_latency = 200ms;
  if (chance(2)) weather.habits.drops_per_mille = 150;
  if (chance(2)) weather.habits.probes_per_mille = 300;
  if (chance(3)) weather.unavailable_per_mille = 50;
  if (chance(3)) weather.unknown_per_mille = 50;
  return weather;
}

int count(const GameState& state, Mark mark) {
  return static_cast<int>(std::ranges::count(state.cells, mark));
}

// Why this cannot be how a round ended; empty when it can.
std::string unlawful(const GameState& state) {
  const int lead = count(state, Mark::X) - count(state, Mark::O);
  if (lead != 0 && lead != 1) return "somebody moved twice in a row";
  if (state.outcome == Outcome::None) return "a finished round without an outcome";
  if (state.outcome == Outcome::Draw && count(state, Mark::None) != 0) return "a draw too early";
  if (state.outcome == Outcome::Win) {
    if (state.winning_cells.size() < 3) return "a win without a line";
    for (const int cell : state.winning_cells) {
      if (state.cells.at(static_cast<std::size_t>(cell)) != state.winner) {
        return "a winning line that is not the winner's";
      }
    }
  }
  return {};
}

class GameRun {
 public:
  explicit GameRun(std::uint64_t seed)
      : random_(seed, "game"),
        weather_(draw_weather(seed, random_)),
        cluster_([](spotmesh::Application& app) { configure(app); }, weather_.cluster) {
    cluster_.set_store_faults(weather_.unavailable_per_mille, weather_.unknown_per_mille);
    for (const char* name : {"ann", "bob"}) {
      players_.push_back(
          std::make_unique<SimPlayer>(cluster_, random_, name, "the room", weather_.habits));
    }
    if (random_below(random_, 2) == 0) std::swap(players_[0], players_[1]);
  }

  RunReport run(bool wants_trace) {
    for (auto& player : players_) player->begin();
    const bool has_ended = cluster_.run_until([this] { return attend(); }, round_limit);
    if (!has_ended) report_.verdict = RunReport::Verdict::Stuck;
    if (has_ended) check_ends();
    for (const auto& player : players_) {
      for (const auto& complaint : player->complaints()) fault(complaint);
      report_.drops += player->drops();
    }
    check_stop();
    for (const auto& violation : cluster_.violations()) fault(violation);
    report_.trace_hash = cluster_.trace_hash();
    if (report_.verdict != RunReport::Verdict::Correct || wants_trace)
      report_.trace = cluster_.trace();
    return std::move(report_);
  }

 private:
  bool attend() {
    bool have_all_seen = true;
    for (auto& player : players_) {
      player->attend();
      have_all_seen = have_all_seen && player->has_seen_the_end();
    }
    return have_all_seen;
  }

  void check_ends() {
    const GameState& a = players_[0]->final_state();
    const GameState& b = players_[1]->final_state();
    if (a.cells != b.cells || a.outcome != b.outcome || a.winner != b.winner) {
      fault("the players saw different ends");
    }
    if (auto why = unlawful(a); !why.empty()) fault(why);
    report_.was_draw = a.outcome == Outcome::Draw;
  }

  // The faults end first: whatever happened before, an orderly stop must then leave nothing behind.
  void check_stop() {
    cluster_.set_store_faults(0, 0);
    cluster_.run_for(30s);
    if (!cluster_.stop(0)) fault("the node did not stop in time");
    for (const auto& key : cluster_.stored_objects()) fault("left in the store: " + key);
  }

  void fault(std::string what) {
    if (report_.verdict == RunReport::Verdict::Correct) report_.verdict = RunReport::Verdict::Wrong;
    report_.faults.push_back(std::move(what));
  }

  SimRandom random_;
  const Weather weather_;
  Cluster cluster_;
  std::vector<std::unique_ptr<SimPlayer>> players_;
  RunReport report_;
};

}  // namespace

RunReport run_game(std::uint64_t seed, bool wants_trace) { return GameRun(seed).run(wants_trace); }

}  // namespace tictactoe::simulation
