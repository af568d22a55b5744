#include "base/random.hpp"

namespace spotmesh {

std::uint64_t random_below(Random& random, std::uint64_t bound) {
  // Values below the threshold would make the low residues more likely than the others.
  const std::uint64_t threshold = (0 - bound) % bound;
  std::uint64_t value = random.next_u64();
  while (value < threshold) value = random.next_u64();
  return value % bound;
}

}  // namespace spotmesh
