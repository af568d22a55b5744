// The production Scheduler and Timers: worker threads, each with an event loop, a run queue and a
// timer wheel.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <spotmesh/time.hpp>

#include "runtime/scheduler.hpp"
#include "runtime/timers.hpp"

namespace spotmesh::net {

class PoolMonitor;
class TimerHome;
class Worker;

struct WorkerPoolOptions {
  unsigned threads = 0;                                  // 0: one per hardware thread
  Duration drain_limit = std::chrono::seconds(5);        // how long stop() lets runnables run on
  Duration stuck_after = std::chrono::milliseconds(20);  // see WorkerPool
};

// Runnables that submit one another stay on one worker, because a message that crosses to another
// core costs more than handling it. A worker that has more than one waiting wakes a sleeping
// worker, which takes half of them. What waits behind a runnable that does not return is given to
// another worker after `stuck_after`, due timers and ready sockets included.
class WorkerPool final : public runtime::Scheduler, public runtime::Timers {
 public:
  // Starts the threads. ConfigurationError when the system refuses one.
  explicit WorkerPool(WorkerPoolOptions options = {});
  ~WorkerPool() override;  // stop()

  void submit(runtime::Runnable& runnable) override;

  // cancel() waits for an on_timer() of that entry that runs on another thread. So it must not be
  // called with a lock held that on_timer() takes, and an on_timer() may cancel no entry but its
  // own.
  void arm(runtime::TimerEntry& entry, Instant deadline) override;
  bool cancel(runtime::TimerEntry& entry) override;

  // Runs what is queued, and what that submits, until nothing is left or the drain limit has
  // passed; then ends the threads. Timers no longer fire after it. A runnable that is submitted
  // from then on is not run. May be called again; not from a worker.
  void stop();

  unsigned thread_count() const { return static_cast<unsigned>(workers_.size()); }

  // For this module: the parts that sockets live on.
  Worker& worker(unsigned index) { return *workers_[index]; }

 private:
  friend class Worker;

  void enqueue(Worker& worker, runtime::Runnable& runnable);
  void submit_from_outside(runtime::Runnable& runnable);
  void wake_a_sleeper();
  bool has_work_to_share() const;
  // Takes half of what waits at a worker where at least `at_least` wait.
  bool steal_for(Worker& thief, std::size_t at_least);
  TimerHome& home_of(const runtime::TimerEntry& entry);

  const WorkerPoolOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<PoolMonitor> monitor_;
  std::atomic<unsigned> sleeping_{0};
  std::atomic<unsigned> next_outside_{0};
  std::atomic<bool> is_stopping_{false};
  Instant drain_deadline_{};  // written before is_stopping_
};

}  // namespace spotmesh::net
