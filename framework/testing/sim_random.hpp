// The Random of a simulated run: streams of their own for each consumer, all from one seed.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <spotmesh/time.hpp>

#include "base/random.hpp"

namespace spotmesh::testing {

// xoshiro256**. The numbers depend on the seed and the stream's name alone, so that a new consumer
// with a stream of its own shifts nobody else's numbers.
class SimRandom final : public Random {
 public:
  SimRandom(std::uint64_t seed, std::string_view stream);
  std::uint64_t next_u64() override;

  // Both ends included.
  Duration between(Duration shortest, Duration longest);
  bool chance(unsigned per_mille) { return random_below(*this, 1000) < per_mille; }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace spotmesh::testing
