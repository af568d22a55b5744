// SimNode: the seams of one simulated node.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/limits.hpp>

#include "base/log.hpp"
#include "runtime/gate.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/timer_wheel.hpp"
#include "runtime/timers.hpp"
#include "runtime/workers.hpp"
#include "testing/sim_clock.hpp"
#include "testing/sim_faults.hpp"
#include "testing/sim_random.hpp"
#include "testing/turn_checker.hpp"

namespace spotmesh::testing {

class SimWorld;

struct SimNodeOptions {
  Duration clock_offset{};
  std::int32_t drift_ppm = 0;
  std::size_t cpu_worker_queue = limits::cpu_worker_queue;
  std::size_t io_worker_queue = limits::io_worker_queue;
};

// One process of a simulated cluster, as far as the runtime can see it. It outlives everything that
// uses its seams. All of it runs on the world's one thread.
class SimNode final : private runtime::Scheduler,
                      private runtime::Timers,
                      private runtime::Workers,
                      private runtime::TurnObserver,
                      private EventSink,
                      private LogSink {
 public:
  SimNode(SimWorld& world, std::string name, std::uint32_t number, SimNodeOptions options);
  ~SimNode() override;

  const std::string& name() const { return name_; }
  std::uint32_t number() const { return number_; }
  SimClock& clock() { return clock_; }
  runtime::Scheduler& scheduler() { return *this; }
  runtime::Timers& timers() { return *this; }
  runtime::Workers& workers() { return *this; }
  Random& random() { return random_; }
  SimFaults& faults() { return faults_; }
  // Checks the turns, folds them into the trace and charges their time.
  runtime::TurnObserver& observer() { return *this; }
  // Both go into the world's trace, with the node's name before each line.
  EventSink& events() { return *this; }
  LogSink& log() { return *this; }
  const TurnChecker& turn_checker() const { return checker_; }
  runtime::GateEnvironment gate_environment(runtime::Admission* admission = nullptr) {
    return {.clock = clock_, .scheduler = *this, .admission = admission, .observer = this};
  }

  // The process is stopped, as by SIGSTOP: nothing of it runs, its clock goes on. What others send
  // it waits (see deliver()).
  void pause();
  void resume();
  bool is_paused() const { return is_paused_; }
  // The machine is suspended for `by` at the end of this node's next turn, before what the turn has
  // said leaves it: the world's time passes, and nothing happens in it anywhere. Zero: it is not.
  void suspend_in_turn(Duration by) { suspension_ = by; }
  // Runs `job` on this node: at once in virtual time, but never inside the call, and only when the
  // node is not paused. What comes from outside a node enters through here.
  void deliver(std::function<void()> job);
  // The process is gone: gates and strands that stand in the run queue are abandoned and closed and
  // leave it, timers and worker jobs never come, and nothing enters any more. Whoever ran on the
  // node abandons his other gates and cancels his timers himself.
  void end();

 private:
  void take_waiting();
  friend class SimWorld;

  void submit(runtime::Runnable& runnable) override;
  void arm(runtime::TimerEntry& entry, Instant deadline) override;
  bool cancel(runtime::TimerEntry& entry) override;
  Result<void> post(Pool pool, std::function<void()> job) override;
  void emit(Event event) override;
  bool is_enabled(LogLevel level) const override { return level >= LogLevel::Info; }
  void write(LogLevel level, std::string_view component, std::string message,
             std::vector<LogField> fields) override;
  void on_turn_started(const runtime::Gate& gate, const runtime::Mailbox& mailbox,
                       Instant now) override;
  void on_turn_resumed(const runtime::Gate& gate, const runtime::Mailbox& mailbox,
                       Instant now) override;
  void on_turn_ended(const runtime::Gate& gate, const runtime::Mailbox& mailbox,
                     Instant now) override;
  void on_flush(const runtime::Gate& gate, const runtime::Mailbox& mailbox, Instant now) override;

  // For the world's loop.
  std::size_t runnable_count() const { return is_paused_ ? 0 : run_queue_.size(); }
  void run(std::size_t index);
  std::optional<Instant> next_timer() const;
  void fire_timers(Instant world_time);

  SimWorld& world_;
  const std::string name_;
  const std::uint32_t number_;
  SimClock clock_;
  runtime::TimerWheel wheel_;
  SimRandom random_;
  SimRandom worker_random_;
  SimFaults faults_;
  TurnChecker checker_;
  const std::array<std::size_t, 2> worker_bounds_;
  std::array<std::size_t, 2> worker_jobs_{};
  std::vector<runtime::Runnable*> run_queue_;
  std::deque<std::function<void()>> waiting_;  // for resume()
  Duration suspension_{};
  bool is_paused_ = false;
  bool has_ended_ = false;
};

}  // namespace spotmesh::testing
