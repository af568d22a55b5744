// Checkers: all rules that are watched in every simulated cluster.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

class Checkers {
 public:
  Checkers();
  ~Checkers();

  // Once, before anything runs; both outlive the run.
  void watch(SimWorld& world, SimStore& store);
  void process_started(const SimNode& seams, node::Node& node);
  // Before the node ends.
  void process_ended(const SimNode& seams);
  void look_at_rest();

  std::vector<std::string> violations() const;

 private:
  CheckedRun run_;
  std::vector<std::unique_ptr<Checker>> all_;
};

}  // namespace spotmesh::testing
