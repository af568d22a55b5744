#include "net/thread_workers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "net/thread_setup.hpp"

namespace spotmesh::net {

namespace {

void run_job(std::string_view pool, const std::function<void()>& job) noexcept {
  try {
    job();
    return;
  } catch (const std::exception& error) {
    fmt::print(stderr, "spotmesh: a job on the {} workers threw: {}\n", pool, error.what());
  } catch (...) {
    fmt::print(stderr, "spotmesh: a job on the {} workers threw something unknown\n", pool);
  }
  std::terminate();
}

}  // namespace

class ThreadWorkers::JobPool {
 public:
  JobPool(std::string name, unsigned threads, std::size_t capacity)
      : name_(std::move(name)), capacity_(capacity) {
    for (unsigned i = 0; i < threads; ++i) {
      threads_.push_back(start_thread(fmt::format("spotmesh-{}{}", name_, i), [this] { work(); }));
    }
  }

  Result<void> post(std::function<void()> job) {
    {
      std::lock_guard lock(mutex_);
      if (is_stopping_) {
        return fail(Error::shutting_down(fmt::format("the {} workers are stopping", name_)));
      }
      if (jobs_.size() >= capacity_) {
        return fail(Error::capacity_exceeded(
            fmt::format("{} jobs wait for the {} workers, as many as may", capacity_, name_)));
      }
      jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
    return {};
  }

  void stop() {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !jobs_.empty() || is_stopping_; });
      if (jobs_.empty()) return;
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      run_job(name_, job);
      job = nullptr;  // what the job held is released before the lock is taken again
      lock.lock();
    }
  }

  const std::string name_;
  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

ThreadWorkers::ThreadWorkers(ThreadWorkersOptions options) {
  const unsigned hardware = std::max(1U, std::thread::hardware_concurrency());
  const unsigned cpu_threads = options.cpu_threads == 0 ? hardware : options.cpu_threads;
  cpu_ = std::make_unique<JobPool>("cpu", cpu_threads, options.cpu_queue);
  io_ = std::make_unique<JobPool>("io", std::max(1U, options.io_threads), options.io_queue);
}

ThreadWorkers::~ThreadWorkers() { stop(); }

Result<void> ThreadWorkers::post(Pool pool, std::function<void()> job) {
  return (pool == Pool::Cpu ? cpu_ : io_)->post(std::move(job));
}

void ThreadWorkers::stop() {
  cpu_->stop();
  io_->stop();
}

}  // namespace spotmesh::net
