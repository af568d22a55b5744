// The Random seam: every random choice of the runtime comes through here, so that a simulated run
// repeats from its seed.
#pragma once

#include <cstdint>

#include <spotmesh/ids.hpp>

namespace spotmesh {

// Safe to call from any thread of the node that owns it.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next_u64() = 0;
};

// A non-zero 128-bit id of the wanted kind.
template <typename IdType>
IdType random_id(Random& random) {
  IdType id;
  while (id.is_none()) id = IdType{random.next_u64(), random.next_u64()};
  return id;
}

// Uniform in [0, bound); `bound` must not be 0.
std::uint64_t random_below(Random& random, std::uint64_t bound);

}  // namespace spotmesh
