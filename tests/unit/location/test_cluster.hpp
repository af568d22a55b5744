// A few nodes on one store, as far as leases and creations go.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "test_node.hpp"

namespace spotmesh::testing {

struct Cluster {
  ManualTime time;
  TestRandom random;
  SimStore store;
  std::vector<std::unique_ptr<TestNode>> nodes;

  // Nodes a, b, c …, none of which watches another.
  explicit Cluster(int count, std::uint64_t seed = 1) : random(seed), store(time, random) {
    for (int i = 0; i < count; ++i) add(std::string(1, static_cast<char>('a' + i)));
  }
  // Everybody watches everybody, for long enough to have seen every beat move.
  void acquaint() {
    for (auto& one : nodes) {
      for (auto& other : nodes) {
        if (one != other) one->watch(*other);
      }
    }
    time.run_for(std::chrono::seconds(12));
  }
  TestNode& add(const std::string& name) {
    nodes.push_back(std::make_unique<TestNode>(store, time, random, name));
    time.run_for(std::chrono::milliseconds(50));
    REQUIRE(nodes.back()->view().is_held);
    return *nodes.back();
  }
  TestNode& operator[](std::size_t index) { return *nodes.at(index); }

  bool has_event(std::size_t node, const std::string& event) {
    const auto& events = nodes.at(node)->events();
    return std::find(events.begin(), events.end(), event) != events.end();
  }

  const Creation& finish(const Creation& creation) {
    while (!creation.is_done) REQUIRE(time.run_next());
    return creation;
  }
  std::optional<location::AuthorityRecord> record(const std::string& id) {
    const std::string key = location::keys::actor(id_of<ActorId>(id));
    for (const auto& entry : store.contents(key)) {
      if (entry.key != key) continue;
      auto decoded = location::decode_authority(key, entry.stored.value);
      REQUIRE(decoded);
      return *decoded;
    }
    return std::nullopt;
  }
};

// Nodes that know each other.
struct AcquaintedCluster : Cluster {
  explicit AcquaintedCluster(int count, std::uint64_t seed = 1) : Cluster(count, seed) {
    acquaint();
  }
};

inline TestNode::Script get_or_create() { return {.is_get_or_create = true}; }

inline TestNode::Script answering(location::create::Event verdict) {
  return {.verdict = [verdict = std::move(verdict)] { return verdict; }};
}

}  // namespace spotmesh::testing
