#include "location/hint_pace.hpp"

#include <catch2/catch.hpp>

#include "sample_records.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;

namespace {

NodeDescriptor some_node() {
  NodeDescriptor node{.stamp = stamp_of("a"),
                      .is_stream_gateway = false,
                      .application_version = "1",
                      .state = HostState::Serving,
                      .advertised_address = "a:1",
                      .meshes = {}};
  MeshPart& part = node.meshes.emplace_back();
  part.mesh = "play";
  part.is_object_server = true;
  part.weight = 100;
  part.pending_limit = 128;
  part.actor_types = {id_of<StableType>("player")};
  part.spot_types = {{id_of<StableType>("room"), 10, 20}};
  part.actors = {.active = 40, .pending = 0, .limit = 80};
  part.spots = {.active = 10, .pending = 0, .limit = 0};
  return node;
}

}  // namespace

TEST_CASE("what has not changed is not written again", "[PLACE-06]") {
  CHECK(hint_pace(some_node(), some_node()) == std::nullopt);
}

TEST_CASE("what is no hint is written at once") {
  NodeDescriptor wanted = some_node();
  SECTION("state") { wanted.state = HostState::Draining; }
  SECTION("address") { wanted.advertised_address = "a:2"; }
  SECTION("weight") { wanted.meshes[0].weight = 99; }
  SECTION("a mesh") { wanted.meshes.emplace_back(); }
  CHECK(hint_pace(some_node(), wanted) == Duration::zero());
}

TEST_CASE("any changed count is written in the end, the larger the change the sooner",
          "[PLACE-06]") {
  NodeDescriptor written = some_node();
  NodeDescriptor wanted = some_node();
  MeshPart& part = wanted.meshes[0];
  SECTION("any") {
    SECTION("Actors") { part.actors.active += 9; }
    SECTION("Spots without a limit") { part.spots.active += 1'000; }
    SECTION("Spots of a type") { part.spot_types[0].taken -= 1; }
    SECTION("pending") { part.actors.pending += 1; }
    CHECK(hint_pace(written, wanted) == pace_of_any);
  }
  SECTION("an eighth of a limit") {
    SECTION("Actors") { part.actors.active -= 10; }
    SECTION("Spots of a type") { part.spot_types[0].taken += 2; }
    SECTION("pending") {
      part.actors.pending += 8;
      part.spots.pending += 8;
    }
    CHECK(hint_pace(written, wanted) == pace_of_much);
  }
  SECTION("full, and no longer full") {
    SECTION("of Actors") { part.actors.active = 80; }
    SECTION("of a type of Spots") { part.spot_types[0].taken = 20; }
    SECTION("of what it makes at the moment") { part.spots.pending = 128; }
    CHECK(hint_pace(written, wanted) == pace_of_full);
    CHECK(hint_pace(wanted, written) == pace_of_full);
  }
}
