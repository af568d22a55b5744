#include "runtime/admission.hpp"

#include <iterator>
#include <utility>

#include "runtime/gate.hpp"

namespace spotmesh::runtime {

bool DeadlineAdmission::is_open(Instant now) { return now < deadline(); }

void DeadlineAdmission::park(Gate& gate, Instant now) {
  bool is_fenced = false;
  {
    std::lock_guard lock(mutex_);
    is_fenced = is_fenced_;
    if (!is_fenced && !is_open(now)) {
      parked_.push_back(&gate);
      return;
    }
  }
  if (is_fenced) gate.abandon();
  gate.submit_parked();
}

void DeadlineAdmission::hold_flush(FlushList flush_list, Instant now) {
  {
    std::lock_guard lock(mutex_);
    if (is_fenced_) return;
    if (!is_open(now)) {
      held_.insert(held_.end(), std::make_move_iterator(flush_list.begin()),
                   std::make_move_iterator(flush_list.end()));
      return;
    }
  }
  for (const Ref<Flushable>& flushable : flush_list) flushable->flush();
}

void DeadlineAdmission::extend(Instant deadline) {
  std::vector<Gate*> parked;
  while (true) {
    FlushList held;
    {
      std::lock_guard lock(mutex_);
      if (is_fenced_ || deadline <= this->deadline()) return;
      if (held_.empty()) {
        // Only now, so that no turn's flush overtakes what was held before it.
        deadline_.store(deadline.since_origin.count(), std::memory_order_release);
        parked = std::exchange(parked_, {});
        break;
      }
      held = std::exchange(held_, {});
    }
    for (const Ref<Flushable>& flushable : held) flushable->flush();
  }
  for (Gate* gate : parked) gate->submit_parked();
}

void DeadlineAdmission::fence() {
  std::vector<Gate*> parked;
  FlushList held;
  {
    std::lock_guard lock(mutex_);
    is_fenced_ = true;
    deadline_.store(never, std::memory_order_release);
    parked = std::exchange(parked_, {});
    held = std::exchange(held_, {});
  }
  for (Gate* gate : parked) {
    gate->abandon();
    gate->submit_parked();
  }
}

}  // namespace spotmesh::runtime
