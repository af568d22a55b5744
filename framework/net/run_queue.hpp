// A worker's queue of runnables.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include "base/small_mutex.hpp"
#include "runtime/scheduler.hpp"

namespace spotmesh::net {

// First in, first out, linked through the runnables themselves, so that queueing allocates nothing.
// Safe from any thread. A lock and not a lock-free deque: what is queued is a batch of up to 64
// messages, and an uncontended lock is a few nanoseconds of it.
class RunQueue {
 public:
  // Returns how many are queued now.
  std::size_t push(runtime::Runnable& runnable) {
    std::lock_guard lock(mutex_);
    append(runnable);
    return publish_size();
  }

  runtime::Runnable* pop() {
    if (size() == 0) return nullptr;
    std::lock_guard lock(mutex_);
    runtime::Runnable* first = take_first();
    publish_size();
    return first;
  }

  // Moves up to `at_most` of the oldest of `victim` to the back of this queue. Returns how many.
  std::size_t take_from(RunQueue& victim, std::size_t at_most) {
    std::scoped_lock lock(mutex_, victim.mutex_);
    std::size_t taken = 0;
    for (; taken < at_most && victim.first_ != nullptr; ++taken) append(*victim.take_first());
    victim.publish_size();
    publish_size();
    return taken;
  }

  // Sequentially consistent with push(): a worker that goes to sleep and one that submits cannot
  // both miss the other.
  std::size_t size() const { return size_.load(); }

 private:
  void append(runtime::Runnable& runnable) {
    runnable.next_in_run_queue = nullptr;
    if (last_ == nullptr) {
      first_ = &runnable;
    } else {
      last_->next_in_run_queue = &runnable;
    }
    last_ = &runnable;
    ++count_;
  }

  runtime::Runnable* take_first() {
    runtime::Runnable* first = first_;
    if (first == nullptr) return nullptr;
    first_ = first->next_in_run_queue;
    if (first_ == nullptr) last_ = nullptr;
    first->next_in_run_queue = nullptr;
    --count_;
    return first;
  }

  std::size_t publish_size() {
    size_.store(count_);
    return count_;
  }

  SmallMutex mutex_;
  runtime::Runnable* first_ = nullptr;
  runtime::Runnable* last_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> size_{0};
};

}  // namespace spotmesh::net
