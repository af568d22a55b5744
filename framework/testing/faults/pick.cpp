#include "testing/faults/pick.hpp"

#include <vector>

namespace spotmesh::testing {

std::optional<unsigned> pick_running_node(const Cluster& cluster, Chance& chance) {
  std::vector<unsigned> running;
  for (unsigned node = 0; node < cluster.nodes(); ++node) {
    if (cluster.is_running(node) && !cluster.is_paused(node)) running.push_back(node);
  }
  if (running.empty()) return std::nullopt;
  return running[chance.below(running.size())];
}

std::optional<std::pair<unsigned, unsigned>> pick_pair(const Cluster& cluster, Chance& chance) {
  if (cluster.nodes() < 2) return std::nullopt;
  const auto first = static_cast<unsigned>(chance.below(cluster.nodes()));
  const auto step = static_cast<unsigned>(1 + chance.below(cluster.nodes() - 1));
  return std::pair(first, (first + step) % cluster.nodes());
}

}  // namespace spotmesh::testing
