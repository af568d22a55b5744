// What others see of a node that dies, and what becomes of what it had.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "checks.hpp"
#include "fenced_run.hpp"
#include "location/beat_watch.hpp"
#include "location/directory.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"
#include "objects/capacity.hpp"
#include "objects/lease_driver.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;
using namespace std::chrono_literals;
namespace keys = spotmesh::location::keys;

namespace {

// Anna lives on node one; node two deals with her.
struct LostOwner : TwoNodes {
  location::OwnerRun run() { return location::run_of(*one->core().lease->view().stamp); }
  bool is_fenced(const location::OwnerRun& run) {
    const std::string key = keys::lease(run.owner);
    for (const auto& entry : sim.store.contents(key)) {
      if (entry.key != key) continue;
      return location::decode_lease(key, entry.stored.value)->state == location::LeaseState::Fenced;
    }
    return true;
  }
  ActorRef take_over(const std::string& type) {
    for (int i = 0; i < 100; ++i) {
      const auto result = two->get_or_create("anna", type);
      if (result.has_value() && std::holds_alternative<Created>(*result)) {
        return std::get<Created>(*result).actor;
      }
      run_for(500ms);
    }
    throw std::logic_error("it was never taken over");
  }
};

}  // namespace

TEST_CASE(
    "from the end of a dead owner's lease on, messages to its objects are Unavailable until "
    "somebody takes over",
    "[LOSS-01][LOSS-02]") {
  LostOwner world;
  const ActorRef anna = world.one->born("anna", "pawn");
  const location::OwnerRun run = world.run();
  for (int i = 0; i < 10; ++i) {
    REQUIRE(world.two->send("anna", probe::Note{}).has_value());
    world.run_for(1s);
  }
  const Instant died = world.two->sim().clock().now();
  world.one->crash();
  std::optional<Duration> unavailable_from;
  while (!world.is_fenced(run)) {
    const Duration since = world.two->sim().clock().now() - died;
    REQUIRE(since < 60s);
    const auto sent = world.two->send("anna", probe::Note{});
    if (sent.has_value()) {
      INFO("sent " << since / 1ms << " ms after");
      CHECK_FALSE(unavailable_from.has_value());
    } else {
      check_error(sent, ErrorKind::Unavailable, "anna");
      if (!unavailable_from.has_value()) unavailable_from = since;
      const auto created = world.two->get_or_create("anna", "pawn");
      if (!world.is_fenced(run)) check_error(created, ErrorKind::Unavailable, "anna");
    }
    world.run_for(250ms);
  }
  // The lease, counted from what was last seen of its beat; watching costs at most one round more.
  REQUIRE(unavailable_from.has_value());
  CHECK(*unavailable_from >= 5s);
  CHECK(*unavailable_from <= 22s);
  check_error(world.two->send("anna", probe::Note{}), ErrorKind::Unavailable, "anna");
  const ActorRef again = world.take_over("pawn");
  CHECK(again.object_generation > anna.object_generation);
  CHECK(world.two->send("anna", probe::Note{}).has_value());
}

TEST_CASE("a node that dies is fenced by its neighbours on the ring, whoever deals with it",
          "[LOSS-05][STORE-11]") {
  TestWorld sim;
  Hooks hooks;
  Application app;
  configure_game(app, hooks);
  std::vector<std::unique_ptr<TestNode>> nodes;
  for (int i = 0; i < 20; ++i) {
    nodes.push_back(std::make_unique<TestNode>(sim.world, sim.store, app, fmt::format("n{}", i)));
    REQUIRE(nodes.back()->start().has_value());
  }
  // Whoever was a neighbour only until the next node came is forgotten again.
  sim.run_for(location::watched_while_idle + 30s);
  // Nobody watches more than a few.
  std::vector<location::OwnerRun> runs;
  for (auto& node : nodes) runs.push_back(run_of(*node->core().lease->view().stamp));
  for (auto& node : nodes) {
    int watched = 0;
    for (const auto& run : runs) {
      const auto verdict =
          node->core().lease->environment().owners.verdict(run, node->core().now());
      watched += verdict == location::OwnerVerdict::Alive ? 1 : 0;
    }
    CHECK(watched >= static_cast<int>(location::directory::watched_neighbours));
    CHECK(watched <= static_cast<int>(location::directory::watched_neighbours) + 1);
  }
  const std::string dead = keys::lease(runs[3].owner);
  nodes[3]->crash();
  const auto is_fenced = [&] {
    for (const auto& lease : sim.store.contents(dead)) {
      if (lease.key != dead) continue;
      return location::decode_lease(dead, lease.stored.value)->state ==
             location::LeaseState::Fenced;
    }
    return false;
  };
  sim.run_for(40s);
  CHECK(is_fenced());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i != 3) CHECK_FALSE(nodes[i]->fenced_with.has_value());
  }
}

TEST_CASE("whoever reads of a fenced run that it never knew takes nothing from it", "[RACE-12]") {
  TwoNodes world;
  FencedRun ghost(world.sim);
  ghost.own_actor(*ActorId::parse("anna"), *StableType::parse("pawn"));
  REQUIRE_FALSE(world.two->mesh().is_over(ghost.peer()));
  SECTION("in a look-up") { CHECK_FALSE(world.two->find("anna").has_value()); }
  SECTION("in a creation") { CHECK(world.two->get_or_create("anna", "pawn").has_value()); }
  SECTION("looking for its address") {
    CHECK_FALSE(world.two->node().addresses().address_of(ghost.peer()).has_value());
    world.run_for(1s);
  }
  CHECK(world.two->mesh().is_over(ghost.peer()));
  CHECK_FALSE(world.one->mesh().is_over(ghost.peer()));
}

TEST_CASE("a member whose room was lost with its owner starts again in an Entry Spot",
          "[RACE-03][LOSS-05]") {
  LostOwner world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  REQUIRE(world.one->send("anna", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(world.one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  REQUIRE(world.two->send("anna", probe::Note{}).has_value());
  world.run_for(6s);
  const location::OwnerRun run = world.run();
  world.one->crash();
  while (!world.is_fenced(run)) world.run_for(500ms);
  world.run_for(5s);
  // The room comes to life elsewhere first: it has no members of old.
  const SpotRef red = world.two->room("red", "room");
  CHECK_FALSE(world.two->find("anna").has_value());
  const ActorRef anna = world.take_over("rook");
  CHECK(world.two->spot_of("anna")->spot_id.text() != "red");
  CHECK(anna.node_rid == world.two->core().identity.rid);
  CHECK(world.two->close(red) == true);
}

TEST_CASE("capacity at the node that takes over is its own; the dead node's is nobody's",
          "[LOSS-05]") {
  OneNode one([](ObjectServer& play) { play.actor_limit(2); });
  TestNode two(one.sim, one.app, "two");
  REQUIRE(two.start().has_value());
  one->born("a", "pawn");
  one->born("b", "pawn");
  one.run_for(10s);
  REQUIRE(two.get_or_create("a", "pawn").has_value());
  one->crash();
  for (int i = 0; i < 100; ++i) {
    const auto taken = two.get_or_create("a", "rook");
    if (taken.has_value() && std::holds_alternative<Created>(*taken)) break;
    one.run_for(500ms);
  }
  REQUIRE(two.find("a").has_value());
  CHECK(std::holds_alternative<Created>(*two.get_or_create("b", "pawn")));
  const auto usage = two.core().capacity->actors(*two.core().application.find_mesh("play"));
  CHECK(usage.active == 2);
  CHECK(usage.pending == 0);
  check_error(two.create("c", "pawn"), ErrorKind::CapacityExceeded, "2 Actors");
}
