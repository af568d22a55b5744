// Chance: what a simulated run leaves to its seed.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <spotmesh/time.hpp>

namespace spotmesh::testing {

// A stream of numbers that depends on the seed and the stream's name alone, so that a new use of
// chance, with a stream of its own, leaves all others as they were.
class Chance {
 public:
  Chance(std::uint64_t seed, std::string_view stream);
  Chance(Chance&&) noexcept;
  Chance& operator=(Chance&&) noexcept;
  ~Chance();

  std::uint64_t next();
  // 0 … bound - 1; `bound` is at least 1.
  std::uint64_t below(std::uint64_t bound);
  // Both ends included.
  Duration between(Duration shortest, Duration longest);
  // Whether something happens that happens so often; 1000 is always.
  bool per_mille(unsigned chance) { return below(1000) < chance; }
  bool one_in(std::uint64_t times) { return below(times) == 0; }

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace spotmesh::testing
