// The seams of a node on real threads, as small as they can be: for tests that are run under
// ThreadSanitizer to prove that locks suffice.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <spotmesh/time.hpp>

#include "runtime/clock.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/timer_wheel.hpp"
#include "runtime/timers.hpp"

namespace spotmesh::testing {

class SteadyClock final : public runtime::Clock {
 public:
  Instant now() const override { return {std::chrono::steady_clock::now().time_since_epoch()}; }
  WallTime wall_now() const override { return {}; }
};

// Few threads, one queue. Runs what is queued before it goes.
class SmallPool final : public runtime::Scheduler {
 public:
  explicit SmallPool(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~SmallPool() override {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
  }
  void submit(runtime::Runnable& runnable) override {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(&runnable);
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      runtime::Runnable* runnable = queue_.front();
      queue_.pop_front();
      lock.unlock();
      const bool runs_again = runnable->run() == runtime::Runnable::After::RunAgain;
      lock.lock();
      if (runs_again) queue_.push_back(runnable);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<runtime::Runnable*> queue_;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
};

// One thread that does nothing but wait for timers.
class ThreadTimers final : public runtime::Timers {
 public:
  explicit ThreadTimers(const runtime::Clock& clock)
      : clock_(clock), wheel_(clock.now()), thread_([this] { work(); }) {}
  ~ThreadTimers() override {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void arm(runtime::TimerEntry& entry, Instant deadline) override {
    std::lock_guard lock(mutex_);
    wheel_.arm(entry, deadline);
    changed_.notify_all();
  }
  bool cancel(runtime::TimerEntry& entry) override {
    std::unique_lock lock(mutex_);
    const bool was_armed = wheel_.cancel(entry);
    if (std::this_thread::get_id() != thread_.get_id()) {
      changed_.wait(lock, [&] { return running_ != &entry; });
    }
    return was_armed;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!is_stopping_) {
      const Instant now = clock_.now();
      wheel_.advance(now, [&](runtime::TimerEntry& entry) {
        running_ = &entry;
        lock.unlock();
        entry.on_timer(now);
        lock.lock();
        running_ = nullptr;
        changed_.notify_all();
      });
      // Looked at again when something is armed, or at the latest in a moment.
      const auto next = wheel_.next_deadline();
      const Duration longest = std::chrono::milliseconds(50);
      const Duration wait = next.has_value() ? std::min(longest, *next - clock_.now()) : longest;
      if (wait > Duration::zero()) changed_.wait_for(lock, wait);
    }
  }

  const runtime::Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  runtime::TimerWheel wheel_;
  runtime::TimerEntry* running_ = nullptr;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace spotmesh::testing
