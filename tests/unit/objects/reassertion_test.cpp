// What a node does with what it owns when the store has forgotten.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "checks.hpp"
#include "forgetful.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;
using namespace std::chrono_literals;

namespace {

// Says when it is gone.
class Mourned : public Pawn {
 public:
  using Pawn::Pawn;
  ~Mourned() override { hooks().journal.note("gone " + name()); }
  static void handlers(ActorHandlers<Mourned>& on) { on.request(&Mourned::brood); }
  // Never ends by itself.
  Task<probe::Answer> brood(const probe::Ask&) {
    while (co_await context().run_cpu_worker([] {}).submit()) {
    }
    co_return probe::Answer{};
  }
};

// Made before the world that uses them.
struct WithHooks {
  Hooks hooks;
};

// Anna, who broods in room red, on the room's gate.
struct Brooding : private WithHooks, Forgetful {
  Brooding()
      : Forgetful([this](ObjectServer& play) {
          play.actor<Mourned>("mourned", [this](auto& f) {
            f.disable_relocation().create_with([this](ActorContext& context) {
              return std::make_unique<Mourned>(context, hooks);
            });
          });
        }),
        anna(one->born("anna", "mourned")) {
    one->room("red", "room");
  }
  using WithHooks::hooks;
  void brood() {
    REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
    one.run_for(1s);
    REQUIRE(one->spot_of("anna")->spot_id.text() == "red");
    one->begin<Result<probe::Answer>>([](Context& context) {
      return context.actors().request<probe::Answer>("anna", probe::Ask{}).timeout(60s).submit();
    });
    one.run_for(1s);
  }
  const ActorRef anna;
};

}  // namespace

TEST_CASE("an owner writes again what the store has forgotten of it, and serves throughout",
          "[STORE-08]") {
  Forgetful world;
  world.one->born("old", "pawn");
  world.one.run_for(20s);
  const ActorRef anna = world.one->born("anna", "pawn");
  world.one->room("red", "room");
  REQUIRE(world.one->send("anna", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(world.one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  const auto before = world.actor("anna");
  world.one.sim.store.fail_over(5s);
  REQUIRE_FALSE(world.actor("anna").has_value());
  for (int i = 0; i < 60; ++i) {
    world.one.run_for(500ms);
    REQUIRE(world.serves("anna"));
    REQUIRE(world.serves("old"));
  }
  CHECK(world.actor("anna") == before);
  CHECK(world.one->find("anna")->object_generation == anna.object_generation);
  CHECK(world.one->metrics().reasserted_objects.value() == 4);  // the Entry Spot, too
  CHECK(world.one->metrics().stepped_down_objects.value() == 0);
  CHECK_FALSE(world.one->fenced_with.has_value());
  // All of them can be acted upon in the new epoch.
  REQUIRE(world.one->send("anna", probe::Wish{}).has_value());
  world.one.run_for(1s);
  CHECK(world.one->destroy(anna) == true);
  world.one->born("anna", "pawn");
}

TEST_CASE("nothing but re-assertions is written in the quiet time of a new epoch",
          "[STORE-08][RACE-01]") {
  Forgetful world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  world.one.run_for(1s);
  world.one.sim.store.fail_over(0s);
  world.one.run_for(6s);
  check_error(world.one->create("berta", "pawn"), ErrorKind::Unavailable, "new epoch");
  CHECK_FALSE(world.actor("berta").has_value());
  REQUIRE(world.one->send("anna", probe::Wish{.spot = "red"}).has_value());
  world.one.run_for(1s);
  CHECK(world.one.journal().count("completed anna failed Unavailable") == 1);
  CHECK(world.actor("anna")->membership->spot.text() != "red");
  world.one.run_for(20s);
  world.one->born("berta", "pawn");
}

TEST_CASE("many objects are asserted in bounded batches, each on condition of what was read",
          "[STORE-08]") {
  Forgetful world;
  for (int i = 0; i < 150; ++i) world.one->born(fmt::format("a{}", i), "pawn");
  world.one.run_for(1s);
  const auto commits = world.one.sim.store.commits_applied();
  world.one.sim.store.fail_over(60s);
  world.one.run_for(8s);
  CHECK(world.one.sim.store.contents(keys::actor_prefix).size() == 150);
  CHECK(world.one->metrics().reasserted_objects.value() == 151);
  CHECK(world.one.sim.store.commits_applied() - commits < 12);
}

TEST_CASE("an owner steps down from what the store gives to a newer one, and keeps the rest",
          "[STORE-08][RACE-01][LOSS-03]") {
  Forgetful world;
  const ActorRef anna = world.one->born("anna", "pawn");
  world.one->born("berta", "pawn");
  world.one.run_for(1s);
  const BindingIdentity binding{SessionId{1, 1}, LifecycleId{2, 2}, NodeRid{"gate"}, 1};
  world.one->bindings().bind(anna, binding, [](Result<void>) {});
  world.one.run_for(1s);
  world.usurp("anna");
  const auto theirs = world.actor("anna");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(8s);
  CHECK(world.one->metrics().stepped_down_objects.value() == 1);
  CHECK(world.actors() == 1);
  CHECK(world.one->sessions.gone == std::vector<std::string>{"anna"});
  check_error(world.one->send("anna", probe::Note{}), ErrorKind::Unavailable, "anna");
  CHECK(world.serves("berta"));
  world.one.run_for(30s);
  CHECK(world.actor("anna") == theirs);
}

TEST_CASE("a room that is stepped down from takes its members along", "[STORE-08][RACE-03]") {
  Forgetful world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  REQUIRE(world.one->send("anna", probe::Wish{.spot = "red"}).has_value());
  REQUIRE(world.one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  world.usurp_spot("red");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(8s);
  CHECK(world.one->metrics().stepped_down_objects.value() == 2);
  CHECK(world.actors() == 0);
  CHECK(world.one.journal().count("on_leave_actor red anna") == 0);
  // The member starts again in an Entry Spot; its room is another one now.
  world.one.run_for(30s);
  world.one->born("anna", "pawn");
  CHECK(world.one->spot_of("anna")->spot_id.text() != "red");
}

TEST_CASE("a member that is stepped down from is gone, whatever waited for its turn to end",
          "[STORE-08]") {
  Brooding world;
  const BindingIdentity binding{SessionId{1, 1}, LifecycleId{2, 2}, NodeRid{"gate"}, 1};
  world.one->bindings().bind(world.anna, binding, [](Result<void>) {});
  world.brood();
  // The callback that tells of it waits for the turn in progress.
  world.one->bindings().session_ended(world.anna.actor_id, binding);
  world.one.run_for(1s);
  REQUIRE(world.one.journal().count("on_disconnect_actor red anna") == 0);
  world.usurp_spot("red");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(8s);
  CHECK(world.one->metrics().stepped_down_objects.value() == 2);
  CHECK(world.hooks.journal.count("gone anna") == 1);
}

TEST_CASE("the room that stays goes on without the turn of a member that was stepped down from",
          "[STORE-08]") {
  Brooding world;
  world.brood();
  world.usurp("anna");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(8s);
  CHECK(world.one->metrics().stepped_down_objects.value() == 1);
  CHECK(world.hooks.journal.count("gone anna") == 1);
  world.one.run_for(30s);  // nothing is created before the owners have told what they hold
  world.one->born("berta", "pawn");
  REQUIRE(world.one->send("berta", probe::Wish{.spot = "red"}).has_value());
  world.one.run_for(1s);
  CHECK(world.one->spot_of("berta")->spot_id.text() == "red");
}

TEST_CASE("a record that does not parse is named and counted, and the rest goes on", "[STORE-08]") {
  Forgetful world;
  world.one->born("anna", "pawn");
  world.one->born("berta", "pawn");
  world.put(keys::actor(*ActorId::parse("anna")), to_bytes("nonsense"));
  world.one.sim.store.fail_over(0s);
  world.one.run_for(8s);
  CHECK(world.one->metrics().quarantined_records.value() >= 1);
  CHECK(world.one->metrics().reasserted_objects.value() == 2);
  CHECK(world.one.sim.world.trace().text().find("actor/anna") != std::string::npos);
  CHECK(world.serves("berta"));
  world.one.run_for(30s);
  check_error(world.one->create("anna", "pawn"), ErrorKind::DataLost, "anna");
}

TEST_CASE("what cannot be asserted within the former admission is let go, and never again",
          "[STORE-08][STORE-05][RACE-01]") {
  Forgetful world;
  world.one->born("anna", "pawn");
  world.one.run_for(6s);
  world.one.sim.store.fail_over(60s);
  // The lease comes through, and then the store is away for longer than the former admission.
  REQUIRE(world.one.sim.world.run_until(
              [&] {
                return world.lease().epoch == world.one.sim.store.epoch() &&
                       world.lease().admits(world.one->core().now());
              },
              10s) == testing::SimOutcome::Done);
  const Instant closes_at = world.lease().former_admission_deadline;
  world.one->store().set_available(false);
  REQUIRE(world.one->core().admission.deadline() <= closes_at);
  world.one.run_for(closes_at - world.one->core().now() + 10ms);
  CHECK(world.one->metrics().stepped_down_objects.value() == 1);
  CHECK(world.actors() == 0);
  world.one->store().set_available(true);
  world.one.run_for(30s);
  CHECK_FALSE(world.actor("anna").has_value());
  CHECK_FALSE(world.one->fenced_with.has_value());
  // The node itself goes on.
  world.one->born("anna", "pawn");
}

TEST_CASE("a re-assertion that comes to the store too late leaves nothing there",
          "[STORE-08][RACE-01]") {
  Forgetful world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  REQUIRE(world.one->send("anna", probe::Wish{.spot = "red"}).has_value());
  world.one.run_for(6s);
  world.one.sim.store.fail_over(60s);
  REQUIRE(world.one.sim.world.run_until(
              [&] {
                return world.lease().epoch == world.one.sim.store.epoch() &&
                       world.lease().admits(world.one->core().now());
              },
              10s) == testing::SimOutcome::Done);
  const Duration left = world.lease().former_admission_deadline - world.one->core().now();
  auto& behavior = world.one.sim.store.behavior();
  behavior.late_commits_per_mille = 1000;
  behavior.late_commit_latency = left + 1s;
  world.one.run_for(10ms);
  behavior.late_commits_per_mille = 0;
  world.one.run_for(left);
  CHECK(world.one->metrics().stepped_down_objects.value() == 2);
  REQUIRE_FALSE(world.actor("anna").has_value());
  // It is applied then, and removed when the epoch is quiet.
  world.one.run_for(2s);
  CHECK(world.actor("anna").has_value());
  world.one.run_for(20s);
  CHECK_FALSE(world.actor("anna").has_value());
  CHECK_FALSE(world.get(keys::spot(*SpotId::parse("red"))).has_value());
  world.one->born("anna", "pawn");
}

TEST_CASE("a node tells of itself again when the store has forgotten, and no more when it stops",
          "[STORE-08]") {
  Forgetful world;
  const std::string key = keys::node(world.one->core().identity.rid);
  const auto is_told = [&] {
    const auto value = world.get(key);
    return value.has_value() &&
           location::decode_node(key, *value)->state == location::HostState::Serving;
  };
  REQUIRE(is_told());
  world.one.run_for(1s);
  world.one.sim.store.fail_over(60s);
  CHECK_FALSE(world.get(key).has_value());
  world.one.run_for(8s);
  CHECK(is_told());
  // Nobody else writes it; if anybody has, it is written over. Until then nothing is created.
  world.put(key, to_bytes("nonsense"));
  world.one.run_for(15s);
  world.one->born("anna", "pawn");
  world.one.run_for(12s);
  CHECK(is_told());
  world.one->stop();
  CHECK(world.one.sim.store.contents(keys::node_prefix).empty());
}
