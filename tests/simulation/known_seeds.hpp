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

inline constexpr std::array<KnownSeed, 7> known_seeds = {{
    {"alone", 7654,
     "the checking client took it for a lost push when its Actor had been taken over by another"},
    {"alone", 10552, "a run whose fence the store had forgotten was never watched again"},
    {"alone", 14997, "an Actor that was stepped down from was kept by a claim on itself"},
    {"together", 968,
     "an epoch forgot the one before it, and gave out the same lease generations again"},
    {"together", 1325, "what was sent to a former owner met the id again there, after later words"},
    {"together", 2189, "the game took the time until a late lease is renewed for a late answer"},
    {"together", 1796078321,
     "the game took an Actor for ready before its node knew that its commit was applied"},
}};

}  // namespace simulation
