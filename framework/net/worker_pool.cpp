#include "net/worker_pool.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <spotmesh/error.hpp>

#include "net/thread_setup.hpp"
#include "net/worker.hpp"

namespace spotmesh::net {

// Watches for workers that are held up by one runnable, and gives what waits behind it to others.
class PoolMonitor {
 public:
  PoolMonitor(WorkerPool& pool, Duration period)
      : pool_(pool),
        period_(period),
        rounds_seen_(pool.thread_count(), 0),
        thread_(start_thread("spotmesh-watch", [this] { watch(); })) {}

  ~PoolMonitor() {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, period_, [this] { return is_stopping_; })) look_once();
  }

  void look_once() {
    std::vector<bool> moved(pool_.thread_count());
    for (unsigned i = 0; i < pool_.thread_count(); ++i) {
      const std::uint64_t rounds = pool_.worker(i).rounds();
      moved[i] = rounds != rounds_seen_[i] || pool_.worker(i).is_sleeping();
      rounds_seen_[i] = rounds;
    }
    for (unsigned i = 0; i < pool_.thread_count(); ++i) {
      if (!moved[i]) relieve(i, moved);
    }
  }

  void relieve(unsigned stuck, const std::vector<bool>& moved) {
    Worker& worker = pool_.worker(stuck);
    worker.timers().fire_due();
    for (unsigned step = 1; step < pool_.thread_count(); ++step) {
      const unsigned other = (stuck + step) % pool_.thread_count();
      if (!moved[other]) continue;
      Worker& helper = pool_.worker(other);
      helper.queue().take_from(worker.queue(), worker.queue().size());
      helper.wake_if_sleeping();
      helper.post([&worker] { worker.poll_for_stuck(); });
      return;
    }
  }

  WorkerPool& pool_;
  const Duration period_;
  std::vector<std::uint64_t> rounds_seen_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

WorkerPool::WorkerPool(WorkerPoolOptions options) : options_(options) {
  const unsigned hardware = std::max(1U, std::thread::hardware_concurrency());
  const unsigned threads = options.threads == 0 ? hardware : options.threads;
  try {
    for (unsigned i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>(*this, i));
    for (auto& worker : workers_) worker->start();
    monitor_ = std::make_unique<PoolMonitor>(*this, options.stuck_after);
  } catch (const std::runtime_error& error) {
    stop();
    throw ConfigurationError(std::string("the worker threads cannot start: ") + error.what());
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::submit(runtime::Runnable& runnable) {
  Worker* here = Worker::current();
  if (here != nullptr && &here->pool() == this) {
    here->mark_awake();
    enqueue(*here, runnable);
  } else {
    submit_from_outside(runnable);
  }
}

void WorkerPool::enqueue(Worker& worker, runtime::Runnable& runnable) {
  // One waiting runnable is this worker's own next job; a second one is worth a wake-up.
  if (worker.queue().push(runnable) >= 2 && sleeping_.load() != 0) wake_a_sleeper();
}

void WorkerPool::submit_from_outside(runtime::Runnable& runnable) {
  const unsigned first = next_outside_.fetch_add(1, std::memory_order_relaxed) % thread_count();
  Worker* target = workers_[first].get();
  if (sleeping_.load() != 0) {
    for (unsigned step = 0; step < thread_count(); ++step) {
      Worker& candidate = *workers_[(first + step) % thread_count()];
      if (!candidate.is_sleeping()) continue;
      target = &candidate;
      break;
    }
  }
  target->queue().push(runnable);
  target->wake_if_sleeping();
}

void WorkerPool::wake_a_sleeper() {
  for (auto& worker : workers_) {
    if (worker->wake_if_sleeping()) return;
  }
}

bool WorkerPool::has_work_to_share() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->queue().size() >= 2; });
}

bool WorkerPool::steal_for(Worker& thief, std::size_t at_least) {
  for (unsigned step = 1; step < thread_count(); ++step) {
    RunQueue& victim = workers_[(thief.index() + step) % thread_count()]->queue();
    const std::size_t waiting = victim.size();
    if (waiting >= at_least && thief.queue().take_from(victim, (waiting + 1) / 2) != 0) return true;
  }
  return false;
}

TimerHome& WorkerPool::home_of(const runtime::TimerEntry& entry) {
  // By address, so that arm() and cancel() find the same wheel from any thread without a word of
  // memory in the entry. The multiplication spreads what an allocator aligns.
  const auto address = std::bit_cast<std::uintptr_t>(&entry);
  const std::uint64_t spread = std::uint64_t{address} * 0x9e3779b97f4a7c15U >> 32;
  return workers_[spread % workers_.size()]->timers();
}

void WorkerPool::arm(runtime::TimerEntry& entry, Instant deadline) {
  home_of(entry).arm(entry, deadline);
}

bool WorkerPool::cancel(runtime::TimerEntry& entry) { return home_of(entry).cancel(entry); }

void WorkerPool::stop() {
  assert(Worker::current() == nullptr || &Worker::current()->pool() != this);
  if (is_stopping_) return;
  drain_deadline_ = SystemClock().now() + options_.drain_limit;
  is_stopping_ = true;
  for (auto& worker : workers_) worker->post([] {});
  for (auto& worker : workers_) worker->join();
  monitor_.reset();
  for (auto& worker : workers_) {
    while (worker->queue().pop() != nullptr) continue;
  }
}

}  // namespace spotmesh::net
