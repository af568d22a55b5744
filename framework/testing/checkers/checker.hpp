// Checker: one rule of the runtime, watched over a whole simulated run.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "testing/world_observer.hpp"

namespace spotmesh::node {
class Node;
}

namespace spotmesh::testing {

class SimWorld;

// One process that has been started and has not ended.
struct LiveProcess {
  const SimNode* seams = nullptr;
  node::Node* node = nullptr;
  bool is_serving() const;
  std::string name() const;
};

// What a checker may look at.
struct CheckedRun {
  const SimWorld* world = nullptr;
  const SimStore* store = nullptr;
  std::vector<LiveProcess> processes;  // in the order they were started
  const LiveProcess* find(std::string_view name) const;
};

// Collects what it finds wrong instead of throwing, since it runs in the middle of things; after
// some complaints it is silent, as one broken rule tends to be broken often.
class Checker : public WorldObserver {
 public:
  // The rule in few words; stands before each complaint.
  virtual std::string_view rule() const = 0;
  // Nothing is under way: what must hold then and need not hold in between.
  virtual void look_at_rest() {}

  const std::vector<std::string>& complaints() const { return complaints_; }

 protected:
  explicit Checker(const CheckedRun& run) : run_(run) {}
  void complain(std::string what) {
    if (complaints_.size() < most_complaints) {
      complaints_.push_back(std::string(rule()) + ": " + std::move(what));
    }
  }

  const CheckedRun& run_;

 private:
  static constexpr std::size_t most_complaints = 10;
  std::vector<std::string> complaints_;
};

}  // namespace spotmesh::testing
