// TwoNodes: the tests' game on two nodes that are linked to each other.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "one_node.hpp"

namespace spotmesh::objects {

struct TwoNodes {
  explicit TwoNodes(std::uint64_t seed = 1, ObjectsConfig config = {}, mesh::MeshOptions mesh = {})
      : sim(seed) {
    configure_game(app, hooks);
    one.emplace(sim, app, "one", config, mesh);
    two.emplace(sim, app, "two", config, mesh);
    REQUIRE(one->start().has_value());
    REQUIRE(two->start().has_value());
  }
  Journal& journal() { return hooks.journal; }
  void run_for(Duration span) { sim.run_for(span); }
  // Nothing goes between the two any more, or goes again.
  void part() { sim.network.partition(one->sim(), two->sim()); }
  void heal() { sim.network.heal(one->sim(), two->sim()); }
  // How many of `Poke` handlers ran for an Actor.
  std::size_t pokes(const std::string& actor) { return journal().count("hall pokes " + actor); }

  Hooks hooks;
  Application app;
  TestWorld sim;
  std::optional<TestNode> one;
  std::optional<TestNode> two;
};

}  // namespace spotmesh::objects
