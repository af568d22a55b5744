// LiveGates: every gate of this node's objects, so that none outlives the node's end.
#pragma once

#include <mutex>
#include <vector>

#include "runtime/gate.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

// Any thread.
class LiveGates {
 public:
  // The caller keeps the gate until remove() has returned.
  void add(runtime::Gate& gate) {
    std::lock_guard lock(mutex_);
    gate.previous_live = last_;
    (last_ == nullptr ? first_ : last_->next_live) = &gate;
    last_ = &gate;
  }
  void remove(runtime::Gate& gate) {
    std::lock_guard lock(mutex_);
    (gate.previous_live == nullptr ? first_ : gate.previous_live->next_live) = gate.next_live;
    (gate.next_live == nullptr ? last_ : gate.next_live->previous_live) = gate.previous_live;
    gate.previous_live = gate.next_live = nullptr;
  }
  // In the order of their making.
  std::vector<runtime::Ref<runtime::Gate>> all() const {
    std::lock_guard lock(mutex_);
    std::vector<runtime::Ref<runtime::Gate>> found;
    for (runtime::Gate* gate = first_; gate != nullptr; gate = gate->next_live) {
      found.emplace_back(gate);
    }
    return found;
  }

 private:
  mutable std::mutex mutex_;
  runtime::Gate* first_ = nullptr;
  runtime::Gate* last_ = nullptr;
};

}  // namespace spotmesh::objects
