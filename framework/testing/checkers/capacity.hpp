// Capacity: what a node counts is what lives on it.
#pragma once

#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

class CapacityChecker final : public Checker {
 public:
  explicit CapacityChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "capacity"; }
  void look_at_rest() override;

 private:
  void look_at(const LiveProcess& process);
};

}  // namespace spotmesh::testing
