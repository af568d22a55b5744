// The production Workers: threads for work that does not belong on a turn.
#pragma once

#include <cstddef>
#include <memory>

#include <spotmesh/limits.hpp>

#include "runtime/workers.hpp"

namespace spotmesh::net {

struct ThreadWorkersOptions {
  unsigned cpu_threads = 0;  // 0: one per hardware thread
  unsigned io_threads = 4;
  std::size_t cpu_queue = limits::cpu_worker_queue;  // jobs that wait, not those that run
  std::size_t io_queue = limits::io_worker_queue;
};

// Two bounded pools of threads. A job that throws ends the process with a message that says so: it
// has left nobody who could be told.
class ThreadWorkers final : public runtime::Workers {
 public:
  explicit ThreadWorkers(ThreadWorkersOptions options = {});
  ~ThreadWorkers() override;  // stop()

  // CapacityExceeded when the pool's queue is full, ShuttingDown after stop() began.
  Result<void> post(Pool pool, std::function<void()> job) override;

  // Refuses new jobs, runs every job that was accepted, ends the threads. Not to be called from a
  // job.
  void stop();

 private:
  class JobPool;

  std::unique_ptr<JobPool> cpu_;
  std::unique_ptr<JobPool> io_;
};

}  // namespace spotmesh::net
