// Job: one unit of work in a mailbox lane: a message, a timer tick, a lifecycle callback.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include <spotmesh/error.hpp>
#include <spotmesh/task.hpp>

#include "base/pool.hpp"

namespace spotmesh::runtime {

class Turn;

// Intrusive (its lane links it) and pooled. Exactly one of {run … finished} and {refuse} happens to
// a job that a mailbox has accepted, then it is deleted; one that was suspended when its mailbox
// was abandoned is refused after its run() and instead of its finished(). Only when its gate is
// abandoned and its mailbox was not closed before, or is destroyed, is a job deleted without
// either; its destructor must cope.
class Job : public Pooled {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  // Runs on the gate. Returns an empty Task when it finished synchronously, else the coroutine that
  // the gate drives to its end; the gate stays occupied until then unless the coroutine yields. May
  // throw.
  virtual Task<void> run(Turn& turn) = 0;
  // Called on the gate at the turn's end, before the flush, when the coroutine's frame is gone.
  // `failure` is what run() or its coroutine threw, or null. Must not throw.
  virtual void finished(Turn& turn, std::exception_ptr failure) = 0;
  // What it is, for people: a packet's name, a callback's. Lives as long as the application.
  virtual std::string_view what() const { return "a job"; }
  // The mailbox was closed before the job ran, or abandoned before it ended; `error` is the one
  // given to close(). On any thread,
  // under no lock of the runtime. Must not throw.
  virtual void refuse(const Error& error) = 0;

 private:
  friend class JobQueue;
  Job* next_ = nullptr;
};

// A plain FIFO of jobs; not thread-safe, owns what it holds.
class JobQueue {
 public:
  JobQueue() = default;
  JobQueue(JobQueue&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)),
        last_(std::exchange(other.last_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  JobQueue& operator=(JobQueue&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~JobQueue() {
    while (pop_front()) {
    }
  }

  void push_back(std::unique_ptr<Job> job) {
    Job* added = job.release();
    (last_ == nullptr ? first_ : last_->next_) = added;
    last_ = added;
    ++size_;
  }
  // Null when empty.
  std::unique_ptr<Job> pop_front() {
    Job* taken = first_;
    if (taken == nullptr) return nullptr;
    first_ = std::exchange(taken->next_, nullptr);
    if (first_ == nullptr) last_ = nullptr;
    --size_;
    return std::unique_ptr<Job>(taken);
  }
  template <typename Predicate>
  bool any_of(Predicate is_it) const {
    for (const Job* job = first_; job != nullptr; job = job->next_) {
      if (is_it(*job)) return true;
    }
    return false;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  Job* first_ = nullptr;
  Job* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace spotmesh::runtime
