// ManyNodes: the tests' game on several nodes that are linked and have seen each other alive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "location/lease_view.hpp"
#include "objects/capacity.hpp"
#include "objects/lease_driver.hpp"
#include "objects/node_directory.hpp"
#include "one_node.hpp"

namespace spotmesh::objects {

// Whether `node` knows what `other` offers, and has seen its beat move: it places nothing there
// before.
inline bool sees_alive(TestNode& node, TestNode& other) {
  const auto* descriptor = node.core().directory->find(other.self());
  return descriptor != nullptr && node.core().lease->environment().owners.verdict(
                                      location::run_of(descriptor->stamp), node.core().now()) ==
                                      location::OwnerVerdict::Alive;
}

struct ManyNodes {
  // What the node of that number registers besides the game.
  using More = std::function<void(ObjectServer&, std::size_t)>;

  explicit ManyNodes(std::size_t count, More more = {}, std::uint64_t seed = 1)
      : more(std::move(more)), sim(seed) {
    for (std::size_t i = 0; i < count; ++i) add();
    acquaint();
    hooks.journal.take();
  }
  TestNode& operator[](std::size_t number) { return *nodes.at(number); }
  Journal& journal() { return hooks.journal; }

  // One more, which places wherever placement says and whom nobody has seen yet.
  TestNode& add() {
    const std::size_t number = nodes.size();
    apps.push_back(std::make_unique<Application>());
    configure_game(*apps.back(), hooks, [&](ObjectServer& play) {
      if (more) more(play, number);
    });
    nodes.push_back(std::make_unique<TestNode>(sim, *apps.back(), "n" + std::to_string(number),
                                               ObjectsConfig{}, mesh::MeshOptions{},
                                               Made::WherePlaced));
    TestNode& node = *nodes.back();
    REQUIRE(node.start().has_value());
    return node;
  }
  void acquaint() {
    wait_for([this] {
      return std::ranges::all_of(nodes, [this](auto& one) {
        return std::ranges::all_of(
            nodes, [&](auto& other) { return one == other || sees_alive(*one, *other); });
      });
    });
  }
  void wait_for(const std::function<bool()>& condition, Duration limit = 120s) {
    const auto end = sim.world.run_until(condition, limit);
    INFO("the run ended " << testing::to_string(end) << "\n" << sim.world.trace().text());
    REQUIRE(end == testing::SimOutcome::Done);
  }
  const MeshTypes& mesh(std::size_t number) {
    return *(*this)[number].core().application.find_mesh("play");
  }
  Capacity::Usage actors(std::size_t number) {
    return (*this)[number].core().capacity->actors(mesh(number));
  }
  Capacity::Usage spots(std::size_t number) {
    return (*this)[number].core().capacity->spots(mesh(number));
  }

  Hooks hooks;
  More more;
  std::vector<std::unique_ptr<Application>> apps;
  TestWorld sim;
  std::vector<std::unique_ptr<TestNode>> nodes;
};

}  // namespace spotmesh::objects
