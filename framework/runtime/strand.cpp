#include "runtime/strand.hpp"

#include <cassert>
#include <utility>

namespace spotmesh::runtime {

Strand::~Strand() { assert((!is_submitted_ || is_closed_) && "a strand ends idle, or closed"); }

void Strand::post(Job job) {
  {
    std::lock_guard lock(mutex_);
    if (is_closed_) return;
    jobs_.push_back(std::move(job));
    if (std::exchange(is_submitted_, true)) return;
  }
  scheduler_.submit(*this);
}

void Strand::close() {
  std::vector<Job> dropped;
  std::lock_guard lock(mutex_);
  is_closed_ = true;
  dropped.swap(jobs_);
}

bool Strand::is_idle() const {
  std::lock_guard lock(mutex_);
  return !is_submitted_;
}

Runnable::After Strand::run() {
  for (std::size_t done = 0; done < batch_jobs; ++done) {
    if (next_ == batch_.size() || is_closed_.load(std::memory_order_relaxed)) {
      batch_.clear();
      next_ = 0;
      std::lock_guard lock(mutex_);
      if (jobs_.empty()) {
        is_submitted_ = false;
        return After::Idle;
      }
      batch_.swap(jobs_);
    }
    Job job = std::move(batch_[next_++]);
    job();
  }
  return After::RunAgain;
}

}  // namespace spotmesh::runtime
