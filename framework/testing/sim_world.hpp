// SimWorld: one thread, one virtual time, one seed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/time.hpp>

#include "testing/sim_node.hpp"
#include "testing/sim_random.hpp"
#include "testing/sim_time.hpp"
#include "testing/sim_trace.hpp"
#include "testing/world_observer.hpp"

namespace spotmesh::testing {

struct SimOptions {
  std::uint64_t seed = 1;
  // What a turn, and beside its turns a run of a gate or strand, costs in virtual time.
  Duration min_turn_cost = std::chrono::microseconds(1);
  Duration max_turn_cost = std::chrono::microseconds(50);
  Duration min_worker_latency = std::chrono::microseconds(10);
  Duration max_worker_latency = std::chrono::milliseconds(2);
  // Steps of one run_…() call after which the run counts as running away.
  std::uint64_t max_steps = 20'000'000;
};

enum class SimOutcome : std::uint8_t {
  Done,      // what was waited for is so
  TimedOut,  // the virtual deadline came first
  Stuck,     // nothing is left that could ever happen
  Runaway    // too many steps; something keeps itself busy
};
std::string_view to_string(SimOutcome outcome);

// Owns the time, the randomness, the trace and the nodes of a run. In each step it lets happen what
// is due, in order of time; then the seed picks one of the Runnables that are waiting. When nothing
// can run, time jumps to the next thing that happens. Everything that decides comes from the seed.
class SimWorld final : public SimTime {
 public:
  explicit SimWorld(SimOptions options = {});
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;
  ~SimWorld() override;

  // The world's own time, which no node can see.
  Instant now() const override { return now_; }
  void at(Instant when, std::function<void()> job) override;
  void after(Duration delay, std::function<void()> job) { at(now_ + delay, std::move(job)); }

  const SimOptions& options() const { return options_; }
  std::uint64_t seed() const { return options_.seed; }
  // The stream of that name; each consumer has its own.
  SimRandom& random(std::string_view stream);
  SimTrace& trace() { return trace_; }

  // Lives as long as the world. Names are unique.
  SimNode& add_node(std::string name, SimNodeOptions options = {});
  const std::vector<std::unique_ptr<SimNode>>& nodes() const { return nodes_; }

  // Until `is_done` holds, asked before every step; at most `limit` of virtual time.
  SimOutcome run_until(const std::function<bool()>& is_done, Duration limit);
  // `span` of virtual time, even when nothing happens in it. Done or Runaway.
  SimOutcome run_for(Duration span);
  // Until nothing can run without time passing beyond what is charged: timers and what at() has
  // put off stay. Done or Runaway.
  SimOutcome run_until_idle();

  // From now on `observer` is told of every turn; it outlives the world's run.
  void watch(WorldObserver& observer) { observers_.push_back(&observer); }
  const std::vector<WorldObserver*>& observers() const { return observers_; }

  // The violations of every node's turn checker.
  std::vector<std::string> violations() const;
  std::uint64_t steps() const { return steps_; }

 private:
  friend class SimNode;
  struct Happening {
    Instant when;
    SimNode* node;  // null: the first of jobs_
  };

  void charge_turn(Duration suspension = {});
  std::optional<Happening> next_happening() const;
  void let_happen(const Happening& happening);
  bool run_something();
  // One step; false when nothing happens up to `end`.
  bool step(Instant end);

  const SimOptions options_;
  Instant now_{};
  std::uint64_t steps_ = 0;
  SimTrace trace_;
  SimRandom picks_;
  SimRandom costs_;
  std::map<std::string, std::unique_ptr<SimRandom>, std::less<>> streams_;
  std::multimap<Instant, std::function<void()>> jobs_;  // of one moment: in order of at()
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<WorldObserver*> observers_;
};

}  // namespace spotmesh::testing
