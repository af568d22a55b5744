// SeedRunner: many seeds of many scenarios, each in a process that may die of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace simulation {

// How a seed ended.
enum class Ending : std::uint8_t { Correct, Wrong, Stuck, Crashed };

struct SeedResult {
  Ending ending = Ending::Correct;
  std::uint64_t trace_hash = 0;
  std::string text;  // for people; of what was not correct
};

struct NamedScenario {
  std::string name;
  std::function<SeedResult(std::uint64_t seed)> run;
};

struct SeedRun {
  const NamedScenario* scenario = nullptr;
  std::uint64_t seed = 0;
  std::string why;  // of a seed that is known: what it found
};

struct RunnerOptions {
  // Every so many seeds one runs twice: its two traces must be equal.
  std::uint64_t repeat_every = 16;
  // A seed that takes longer in real time is ended as stuck.
  std::uint64_t longest_seconds = 60;
  // When it is not zero: wrong if the median seed takes more processor time.
  double longest_median_ms = 0;
  std::string replay_command;  // "{scenario}" and "{seed}" are filled in
};

// Exit codes, so that whoever bisects can tell them apart.
inline constexpr int exit_wrong = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_stuck = 3;
inline constexpr int exit_crashed = 4;

// Runs all of it, one after the other, and prints what failed and a closing line. The exit code is
// that of the worst ending.
int run_seeds(const std::vector<SeedRun>& runs, const RunnerOptions& options);

}  // namespace simulation
