#include "location/placement.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "sample_records.hpp"
#include "testing/sim_random.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using Catch::Matchers::Contains;

namespace {

// A node that serves Actor type "player" and Spot type "room" in mesh "play", without limits.
NodeDescriptor node_of(const std::string& name, std::uint32_t weight = 100) {
  NodeDescriptor node{.stamp = stamp_of(name),
                      .is_stream_gateway = false,
                      .application_version = "1",
                      .state = HostState::Serving,
                      .advertised_address = name + ":1",
                      .meshes = {}};
  MeshPart& part = node.meshes.emplace_back();
  part.mesh = "play";
  part.is_object_server = true;
  part.weight = weight;
  part.pending_limit = 128;
  part.actor_types = {id_of<StableType>("player")};
  part.spot_types = {{id_of<StableType>("room"), 0, 0}};
  return node;
}

class Nodes {
 public:
  explicit Nodes(std::vector<NodeDescriptor> nodes) : nodes_(std::move(nodes)) {}
  MeshPart& part(std::size_t index) { return nodes_.at(index).meshes.front(); }
  NodeDescriptor& operator[](std::size_t index) { return nodes_.at(index); }

  Result<std::string> choose(ObjectKind kind = ObjectKind::Actor,
                             const std::string& type = "player") {
    std::vector<const NodeDescriptor*> pointers;
    for (const NodeDescriptor& node : nodes_) pointers.push_back(&node);
    const StableType stable_type = id_of<StableType>(type);
    const auto chosen =
        choose_place(pointers, {.mesh = "play", .kind = kind, .type = stable_type}, random_);
    if (!chosen) return fail(chosen.error());
    return (*chosen)->stamp.rid.text;
  }
  // How often each node was chosen.
  std::map<std::string, int> shares(int times) {
    std::map<std::string, int> counts;
    for (int i = 0; i < times; ++i) ++counts[*choose()];
    return counts;
  }

 private:
  std::vector<NodeDescriptor> nodes_;
  SimRandom random_{7, "placement"};
};

}  // namespace

TEST_CASE("weights 100 and 300 share ten thousand objects one to three", "[PLACE-03]") {
  Nodes nodes({node_of("a", 100), node_of("b", 300), node_of("c", 0)});
  const auto shares = nodes.shares(10'000);
  CHECK(shares.at("a") + shares.at("b") == 10'000);
  CHECK(shares.at("a") > 2'500 * 95 / 100);
  CHECK(shares.at("a") < 2'500 * 105 / 100);
}

TEST_CASE("the greatest weights of many nodes add up", "[PLACE-03]") {
  std::vector<NodeDescriptor> many;
  for (int i = 0; i < 1'000; ++i) many.push_back(node_of("n" + std::to_string(i), 10'000));
  Nodes nodes(std::move(many));
  CHECK(nodes.shares(10'000).size() > 990);
}

TEST_CASE("weight chooses only among nodes that pass every filter", "[PLACE-02][PLACE-07]") {
  Nodes nodes({node_of("a", 1), node_of("b", 10'000)});
  const auto only_a = [&] { return nodes.shares(200) == std::map<std::string, int>{{"a", 200}}; };
  CHECK_FALSE(only_a());
  SECTION("an object client") { nodes.part(1).is_object_server = false; }
  SECTION("another mesh") { nodes.part(1).mesh = "chat"; }
  SECTION("another Actor type") { nodes.part(1).actor_types = {id_of<StableType>("monster")}; }
  SECTION("its Actors") { nodes.part(1).actors = {.active = 1, .pending = 1, .limit = 2}; }
  SECTION("what it makes at the moment") {
    nodes.part(1).actors.pending = 100;
    nodes.part(1).spots.pending = 28;
  }
  SECTION("not Serving") {
    for (const auto state : {HostState::Preparing, HostState::Relocating, HostState::Relocated,
                             HostState::Draining, HostState::Stopped, HostState::Error}) {
      nodes[1].state = state;
      CHECK(only_a());
    }
  }
  CHECK(only_a());
}

TEST_CASE("a Spot needs room among the Spots and among those of its type", "[PLACE-02][PLACE-05]") {
  Nodes nodes({node_of("a")});
  const auto room = [&] { return nodes.choose(ObjectKind::UserSpot, "room"); };
  nodes.part(0).actors = {.active = 5, .pending = 0, .limit = 5};
  CHECK(room().has_value());
  SECTION("of its type") {
    nodes.part(0).spot_types.front() = {id_of<StableType>("room"), 3, 4};
    CHECK(room().has_value());
    nodes.part(0).spot_types.front().taken = 4;
  }
  SECTION("among all") { nodes.part(0).spots = {.active = 4, .pending = 1, .limit = 5}; }
  CHECK(room().error().kind() == ErrorKind::CapacityExceeded);
}

TEST_CASE("all full is CapacityExceeded, and a type that nobody offers Unavailable", "[PLACE-04]") {
  Nodes nodes({node_of("a"), node_of("b")});
  for (std::size_t i : {0, 1}) nodes.part(i).actors = {.active = 9, .pending = 0, .limit = 9};
  const auto full = nodes.choose();
  CHECK(full.error().kind() == ErrorKind::CapacityExceeded);
  CHECK_THAT(full.error().message(), Contains("'play'") && Contains("'player'"));

  const auto unknown = nodes.choose(ObjectKind::Actor, "monster");
  CHECK(unknown.error().kind() == ErrorKind::Unavailable);
  CHECK_THAT(unknown.error().message(), Contains("'monster'"));
  // An Actor type is no Spot type.
  CHECK(nodes.choose(ObjectKind::UserSpot, "player").error().kind() == ErrorKind::Unavailable);

  // Of full nodes, one that takes nothing is no candidate.
  nodes.part(0).weight = 0;
  nodes.part(1).weight = 0;
  CHECK(nodes.choose().error().kind() == ErrorKind::Unavailable);
}
