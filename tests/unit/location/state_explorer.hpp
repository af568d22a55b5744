// Goes through all states of a cluster, breadth first, and looks whether from each of them some way
// leads to an end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explored_cluster.hpp"

namespace spotmesh::testing {

struct Explored {
  std::size_t states = 0;
  std::size_t transitions = 0;
  std::size_t ends = 0;
  // The first violation, and the shortest way to it; empty when there is none.
  std::string violation;
  std::vector<std::string> steps;
};

class StateExplorer {
 public:
  StateExplorer(const ExploredFaults& faults, std::size_t most_states)
      : cluster_(faults), most_states_(most_states) {}

  Explored run();

 private:
  // By which step, and from which state, a state was found first.
  struct Known {
    std::uint32_t first_from = 0;
    ExploredStep step;
    bool is_end = false;
  };

  void expand(std::uint32_t index, const ExploredCluster::Saved& saved);
  void find(const ExploredStep& step, std::uint32_t from);
  void find_stuck();
  void fail_at(std::uint32_t index, std::string violation);

  ExploredCluster cluster_;
  const std::size_t most_states_;
  std::unordered_map<StateKey, std::uint32_t, StateKeyHash> indexes_;
  std::vector<Known> states_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ways_;  // to, from
  std::deque<std::pair<std::uint32_t, ExploredCluster::Saved>> open_;
  Explored explored_;
};

}  // namespace spotmesh::testing
