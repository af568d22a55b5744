// Every interleaving of a small mesh: the production machines, a network that may do anything a
// network may do, and what must never be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/mesh_machine.hpp"

namespace spotmesh::mesh::testing {

struct ExploreOptions {
  int messages_from_a = 2;
  int messages_from_b = 1;
  int cuts = 0;
  // The process of `b` dies and another one is there at its address.
  int restarts = 0;
  // `b` reads that `a` was fenced.
  int fences = 0;
  // Timers that fire although something is still under way. Those that fire when nothing is cost
  // nothing.
  int early_timers = 0;
  // Points of Faults that always strike.
  std::vector<std::string> defects;
  std::size_t most_states = 2'000'000;
};

struct ExploreReport {
  std::size_t states = 0;
  std::size_t transitions = 0;
  std::size_t ends = 0;
  // The first violation, and the steps that lead to it; empty when there is none.
  std::string violation;
  std::vector<std::string> steps;
};

// `a` and `b` have never met. Time passes only when a timer fires.
ExploreReport explore(const ExploreOptions& options);

}  // namespace spotmesh::mesh::testing
