// SeedRunner: many seeds of many scenarios, each in a process that may die of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace simulation {

// How a seed ended.
enum class Ending : std::uint8_t { Correct, Wrong, Stuck, Crashed };

// How often one kind of fault has struck, and how often of these at the beginning of the trouble.
struct FaultCount {
  std::uint64_t all = 0;
  std::uint64_t early = 0;
};
inline constexpr std::size_t most_fault_kinds = 40;
// In the order of RunnerOptions::fault_kinds.
using FaultCounts = std::array<FaultCount, most_fault_kinds>;

struct SeedResult {
  Ending ending = Ending::Correct;
  std::uint64_t trace_hash = 0;
  std::string text;  // for people; of what was not correct, or whose trace is wanted
  FaultCounts strikes{};
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
  // Printed of every seed, however it ended.
  bool prints_all = false;
  // At most `most_fault_kinds`; how often each has struck is printed.
  std::vector<std::string> fault_kinds;
  // Wrong also when one of them has never struck, or never at the beginning.
  bool wants_each_fault = false;
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
