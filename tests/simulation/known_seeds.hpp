// Seeds that have found a defect. They run before any fresh seed, in every run of the simulation.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace simulation {

struct KnownSeed {
  std::string_view scenario;
  std::uint64_t seed;
  std::string_view why;  // what it found, in one sentence
};

inline constexpr std::array<KnownSeed, 0> known_seeds = {};

}  // namespace simulation
