// Leftovers: a node that has stopped in order leaves nothing of its own in the Location Store.
#pragma once

#include "testing/checkers/checker.hpp"

namespace spotmesh::testing {

class LeftoversChecker final : public Checker {
 public:
  explicit LeftoversChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "leftovers"; }
  void look_at_rest() override;
};

}  // namespace spotmesh::testing
