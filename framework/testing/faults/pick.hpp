// Whom a fault strikes.
#pragma once

#include <optional>
#include <utility>

#include <spotmesh/testing/chance.hpp>
#include <spotmesh/testing/cluster.hpp>

namespace spotmesh::testing {

// A node whose process is there and not frozen; nothing when none is.
std::optional<unsigned> pick_running_node(const Cluster& cluster, Chance& chance);
// Two different nodes, in either order, whatever they do; nothing in a cluster of one.
std::optional<std::pair<unsigned, unsigned>> pick_pair(const Cluster& cluster, Chance& chance);

}  // namespace spotmesh::testing
