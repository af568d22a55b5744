// EndedRuns: the runs of nodes that are known to be over.
#pragma once

#include <cstddef>
#include <deque>
#include <unordered_set>

#include <spotmesh/ids.hpp>
#include <spotmesh/limits.hpp>

namespace spotmesh::mesh {

// A lifecycle is random and never comes again, so it stands for its run alone. Beyond the bound the
// one that ended first is forgotten: so many other runs have ended since that whatever it was still
// to send has long been cut off.
class EndedRuns {
 public:
  explicit EndedRuns(std::size_t bound = limits::mesh_ended_runs) : bound_(bound) {}

  // False when it was there.
  bool add(const LifecycleId& lifecycle) {
    if (!runs_.insert(lifecycle).second) return false;
    order_.push_back(lifecycle);
    if (order_.size() > bound_) {
      runs_.erase(order_.front());
      order_.pop_front();
    }
    return true;
  }
  bool contains(const LifecycleId& lifecycle) const { return runs_.contains(lifecycle); }
  std::size_t size() const { return runs_.size(); }

 private:
  std::size_t bound_;
  std::unordered_set<LifecycleId> runs_;
  std::deque<LifecycleId> order_;
};

}  // namespace spotmesh::mesh
