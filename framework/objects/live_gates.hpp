// LiveGates: every gate of this node's objects, so that none outlives the node's end.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/gate.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

// Any thread.
class LiveGates {
 public:
  // The number by which remove() knows it. The caller keeps the gate until remove() has returned.
  std::uint64_t add(runtime::Gate& gate) {
    std::lock_guard lock(mutex_);
    gates_.emplace(++last_, &gate);
    return last_;
  }
  void remove(std::uint64_t number) {
    std::lock_guard lock(mutex_);
    gates_.erase(number);
  }
  // In the order of their making.
  std::vector<runtime::Ref<runtime::Gate>> all() const {
    std::lock_guard lock(mutex_);
    std::vector<runtime::Ref<runtime::Gate>> found;
    for (const auto& [number, gate] : gates_) found.emplace_back(gate);
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, runtime::Gate*> gates_;
};

}  // namespace spotmesh::objects
