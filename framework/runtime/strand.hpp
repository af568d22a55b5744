// Strand: the control plane's executor: jobs one at a time, in order, off every gate.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include "runtime/scheduler.hpp"

namespace spotmesh::runtime {

// post() is safe from any thread and never runs the job inside the call. Jobs must not block or
// throw. Nothing bounds a strand but what posts to it: completions of bounded operations, and what
// others ask for, of which whoever posts it takes so much at a time. Its owner keeps a strand alive
// until it is idle, or has closed it and knows that its scheduler runs nothing any more: a job, or
// what a job holds, must not end it.
class Strand final : public Runnable {
 public:
  using Job = std::move_only_function<void()>;

  explicit Strand(Scheduler& scheduler) : scheduler_(scheduler) {}
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;
  ~Strand() override;

  void post(Job job);
  // Any thread. Drops what waits and all that is posted later; a job that is running ends by
  // itself.
  void close();
  // Nothing waits and nothing runs. Any thread.
  bool is_idle() const;

  After run() override;

 private:
  static constexpr std::size_t batch_jobs = 64;

  Scheduler& scheduler_;
  mutable std::mutex mutex_;
  std::vector<Job> jobs_;
  bool is_submitted_ = false;
  std::atomic<bool> is_closed_{false};  // written under the lock

  // Touched by run() alone: what it has taken from jobs_ and not finished yet.
  std::vector<Job> batch_;
  std::size_t next_ = 0;
};

}  // namespace spotmesh::runtime
