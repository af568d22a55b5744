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

inline constexpr std::array<KnownSeed, 16> known_seeds = {{
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
    {"together", 315, "what had waited for a machine that stood still was overtaken"},
    {"together", 548, "a member that was stepped down from went on in its room, which it kept"},
    {"apart", 66, "the answer to an end at another node was dropped with the timer of who waited"},
    {"apart", 293, "words came for an Actor whose node did not know yet that it had been created"},
    {"apart", 529, "in what order a node ended its requests depended on where memory was free"},
    {"apart", 753, "a node whose lease had run out said Existing of what another had taken over"},
    {"apart", 1003, "an Actor whose creation had been committed a moment ago was said to be gone"},
    {"apart", 1203,
     "in a new epoch what was forgotten was said to be gone, and written again then"},
    {"apart", 1369, "nobody removed a record that the store had brought back, and its id was lost"},
}};

}  // namespace simulation
