// Actors whose state outlives their node.
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "checks.hpp"
#include "location/checkpoint.hpp"
#include "location/keys.hpp"
#include "objects/lease_driver.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;
using namespace std::chrono_literals;
namespace keys = spotmesh::location::keys;

namespace {

// Adds up what it is asked; odd numbers are worth a checkpoint at once.
class Purse : public Pawn {
 public:
  using Pawn::Pawn;
  static void handlers(ActorHandlers<Purse>& on) { on.request(&Purse::add); }
  probe::Answer add(const probe::Ask& ask) {
    total += ask.value;
    if (ask.value % 2 != 0) CHECK(context().checkpoint_after_turn().has_value());
    return {.value = total, .text = {}};
  }
  int total = 0;
};

struct PurseState {
  Bytes capture(Purse& purse) {
    if (purse.total == 666) throw std::runtime_error("no such purse");
    if (purse.total == 700) return Bytes(limits::checkpoint_bytes + 1);
    return to_bytes(std::to_string(purse.total));
  }
  void restore(Purse& purse, const Bytes& state) {
    purse.total = std::stoi(std::string(as_text(state)));
  }
};

void purses(ObjectServer& play, Hooks& hooks) {
  const auto make = [&hooks](ActorContext& context) {
    return std::make_unique<Purse>(context, hooks);
  };
  play.actor<Purse>("purse", [make](auto& f) {
    f.disable_relocation().template checkpointed_by<PurseState>(10s).create_with(make);
  });
  play.actor<Purse>("pocket", [make](auto& f) { f.disable_relocation().create_with(make); });
}

struct Purses {
  Hooks hooks;
  OneNode one{[this](ObjectServer& play) { purses(play, hooks); }};

  std::optional<location::CheckpointRecord> stored(const std::string& id = "anna") {
    const std::string key = keys::checkpoint(*ActorId::parse(id));
    for (const auto& entry : one.sim.store.contents(key)) {
      if (entry.key == key) return *location::decode_checkpoint(key, entry.stored.value);
    }
    return {};
  }
  std::string state() {
    const auto record = stored();
    return record.has_value() ? std::string(as_text(record->state)) : "none";
  }
  static int add(TestNode& node, int value, const std::string& id = "anna") {
    const auto answer = node.request<probe::Answer>(id, probe::Ask{.value = value});
    REQUIRE(answer.has_value());
    return answer->value;
  }
  // By whoever can, as soon as it may be.
  ActorRef take_over(TestNode& node, const std::string& type) {
    for (int i = 0; i < 200; ++i) {
      const auto result = node.get_or_create("anna", type);
      if (result.has_value() && std::holds_alternative<Created>(*result)) {
        return std::get<Created>(*result).actor;
      }
      if (!result.has_value()) CHECK(result.error().kind() == ErrorKind::Unavailable);
      one.run_for(500ms);
    }
    throw std::logic_error("it was never taken over");
  }
};

}  // namespace

TEST_CASE("a checkpoint is written on its cadence, and only when the state has changed",
          "[LOSS-04]") {
  Purses world;
  const ActorRef anna = world.one->born("anna", "purse");
  Purses::add(*world.one.node, 4);
  CHECK(world.state() == "none");
  world.one.run_for(11s);
  CHECK(world.state() == "4");
  CHECK(world.stored()->object_generation == anna.object_generation);
  CHECK(world.stored()->stable_type.text() == "purse");
  world.one.run_for(60s);
  CHECK(world.one->metrics().checkpoints_written.value() == 1);
  Purses::add(*world.one.node, 2);
  world.one.run_for(11s);
  CHECK(world.state() == "6");
  CHECK(world.stored()->sequence == 2);
}

TEST_CASE("a turn may ask for a checkpoint of what it has done", "[LOSS-04]") {
  Purses world;
  world.one->born("anna", "purse");
  Purses::add(*world.one.node, 5);
  world.one.run_for(100ms);
  CHECK(world.state() == "5");
  // Elsewhere, and of a type without an adapter, there is nothing to ask for.
  OneNode plain;
  plain.hooks.poke = [](ActorContext& context, SpotContext&,
                        const probe::Poke&) -> Task<Result<probe::Poked>> {
    check_error(context.checkpoint_after_turn(), ErrorKind::InvalidOperation, "checkpointed_by");
    co_return probe::Poked{};
  };
  plain->born("anna", "pawn");
  CHECK(plain->request<probe::Poked>("anna", probe::Poke{}).has_value());
}

TEST_CASE("a take-over restores the last checkpoint as a new incarnation, or starts fresh",
          "[LOSS-04][LOSS-02][LOSS-05]") {
  const bool is_checkpointed = GENERATE(true, false);
  const std::string type = is_checkpointed ? "purse" : "pocket";
  Purses world;
  TestNode two(world.one.sim.world, world.one.sim.store, world.one.app, "two");
  REQUIRE(two.start().has_value());
  const ActorRef first = world.one->born("anna", type);
  if (is_checkpointed) {
    Purses::add(*world.one.node, 5);
    world.one.run_for(100ms);
    Purses::add(*world.one.node, 2);  // lost with its owner
  }
  world.one->crash();
  const ActorRef second = world.take_over(two, type);
  CHECK(second.object_generation > first.object_generation);
  CHECK(second.node_rid == two.core().identity.rid);
  if (is_checkpointed) {
    CHECK(Purses::add(two, 10) == 15);
    world.one.run_for(11s);
    CHECK(world.stored()->object_generation == second.object_generation);
    CHECK(world.state() == "15");
  } else {
    const auto answer = two.request<probe::Answer>("anna", probe::Ask{.value = 10});
    CHECK(answer->value == 10);
  }
}

TEST_CASE("a former owner's checkpoint that comes late does not replace the new owner's",
          "[RACE-05][LOSS-03][LOSS-04]") {
  Purses world;
  TestNode two(world.one.sim.world, world.one.sim.store, world.one.app, "two");
  REQUIRE(two.start().has_value());
  world.one->born("anna", "purse");
  Purses::add(*world.one.node, 5);
  world.one.run_for(100ms);
  REQUIRE(world.state() == "5");
  // The next one is held up on its way, for longer than its owner lives.
  world.one.sim.store.behavior().strays_per_mille = 1000;
  world.one.sim.store.behavior().stray_latency = 90s;
  const auto commits = world.one->metrics().store_commits.value();
  Purses::add(*world.one.node, 95);
  REQUIRE(world.one.sim.world.run_until(
              [&] { return world.one->metrics().store_commits.value() > commits; }, 5s) ==
          testing::SimOutcome::Done);
  world.one.sim.store.behavior().strays_per_mille = 0;
  world.one->crash();
  world.take_over(two, "purse");
  CHECK(Purses::add(two, 11) == 16);
  world.one.run_for(1s);
  REQUIRE(world.state() == "16");
  world.one.run_for(200s);
  CHECK(world.state() == "16");
}

TEST_CASE("destroying an Actor ends its checkpoint; a stop of the server does not", "[LOSS-04]") {
  Purses world;
  const ActorRef first = world.one->born("anna", "purse");
  Purses::add(*world.one.node, 5);
  world.one.run_for(100ms);
  REQUIRE(world.stored().has_value());
  CHECK(world.one->destroy(first) == true);
  CHECK_FALSE(world.stored().has_value());
  world.one->born("anna", "purse");
  CHECK(Purses::add(*world.one.node, 3) == 3);
  world.one.run_for(100ms);
  world.one->stop();
  REQUIRE(world.state() == "3");
  TestNode two(world.one.sim.world, world.one.sim.store, world.one.app, "two");
  REQUIRE(two.start().has_value());
  two.born("anna", "purse");
  CHECK(Purses::add(two, 1) == 4);
}

TEST_CASE("what cannot be captured is not written, and the checkpoint before stays", "[LOSS-04]") {
  Purses world;
  world.one->born("anna", "purse");
  Purses::add(*world.one.node, 5);
  world.one.run_for(100ms);
  Purses::add(*world.one.node, GENERATE(661, 695));
  world.one.run_for(100ms);
  CHECK(world.one->metrics().checkpoints_failed.value() == 1);
  CHECK(world.state() == "5");
}

TEST_CASE("a checkpoint that the store has forgotten is written again when its epoch is quiet",
          "[LOSS-04][STORE-08]") {
  Purses world;
  world.one->born("anna", "purse");
  world.one.run_for(20s);
  Purses::add(*world.one.node, 5);
  world.one.run_for(100ms);
  REQUIRE(world.state() == "5");
  world.one.sim.store.fail_over(5s);
  REQUIRE(world.state() == "0");
  world.one.run_for(15s);
  CHECK(world.state() == "0");
  world.one.run_for(30s);
  CHECK(world.state() == "5");
}

TEST_CASE("a checkpoint that does not parse fails the creation, and is named", "[LOSS-04]") {
  Purses world;
  auto other = world.one.sim.store.connect("other");
  const std::string key = keys::checkpoint(*ActorId::parse("anna"));
  other->commit({.epoch = {}, .conditions = {}, .writes = {{key, to_bytes("nonsense")}}},
                [](const location::CommitResult&) {});
  world.one.run_for(100ms);
  check_error(world.one->create("anna", "purse"), ErrorKind::DataLost, "anna");
  CHECK(world.one->metrics().quarantined_records.value() == 1);
  world.one->born("berta", "purse");
}

TEST_CASE("a type is checkpointed by one adapter, and not too often", "[LOSS-04]") {
  Application app;
  auto& play = app.mesh("play").object_server();
  CHECK_THROWS_AS(
      play.actor<Purse>(
          "twice",
          [](auto& f) {
            f.template checkpointed_by<PurseState>().template checkpointed_by<PurseState>();
          }),
      ConfigurationError);
  CHECK_THROWS_AS(
      play.actor<Purse>("often", [](auto& f) { f.template checkpointed_by<PurseState>(10ms); }),
      ConfigurationError);
}
