// The Faults seam: named points in protocols at which a test makes production code misbehave on
// purpose.
#pragma once

#include <string_view>

namespace spotmesh::runtime {

// Production passes a null pointer, so a fault point costs one predicted branch.
class Faults {
 public:
  virtual ~Faults() = default;
  // Whether the defect called `point` (a literal, "skip-lease-condition") happens this time.
  virtual bool strikes(std::string_view point) = 0;
};

inline bool fault_strikes(Faults* faults, std::string_view point) {
  return faults != nullptr && faults->strikes(point);
}

}  // namespace spotmesh::runtime
