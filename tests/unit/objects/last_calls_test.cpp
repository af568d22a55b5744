// What is still on its way when a route, a node or its lease ends, or before it has started.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "checks.hpp"
#include "fencing.hpp"
#include "objects/creations.hpp"
#include "objects/lease_driver.hpp"
#include "objects/peer_port.hpp"
#include "objects/registry.hpp"
#include "objects/router.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

Envelope note_to(const std::string& id, const std::string& text) {
  Envelope envelope;
  envelope.id = id;
  envelope.message = Message::of(probe::Note{.text = text});
  return envelope;
}

}  // namespace

TEST_CASE("a message is not kept waiting for a former owner that has just ended",
          "[RACE-02][TURN-01]") {
  TwoNodes game;
  TestNode three(game.sim, game.app, "three");
  REQUIRE(three.start().has_value());
  game.two->born("anna", "pawn");
  REQUIRE(game.one->send("anna", probe::Note{.text = "first"}).has_value());
  game.run_for(100ms);
  // Where she lives now is known, and what she was sent before may still be under way.
  game.part();
  REQUIRE(game.two->destroy(*game.two->find("anna")).value());
  three.born("anna", "pawn");
  game.one->core().router->forget_routes();
  check_error(game.one->send("anna", probe::Note{.text = "second"}), ErrorKind::Unavailable,
              "has not said in time");
  const mesh::Peer former = game.two->self();
  game.one->core().strand.post([&] {
    // Nobody has been told yet.
    game.one->mesh().end(former, Error::unavailable("fenced"));
    REQUIRE(game.one->core().peers->is_over(former));
    game.one->core().router->submit(note_to("anna", "third"));
  });
  game.run_for(1s);
  CHECK(game.journal().count("anna notes first") == 1);
  CHECK(game.journal().count("anna notes second") == 0);
  CHECK(game.journal().count("anna notes third") == 1);
}

TEST_CASE("what comes to wait for a route when the lease is lost is refused",
          "[MSG-03][STORE-10]") {
  TwoNodes game;
  game.two->born("anna", "pawn");
  game.run_for(12s);
  game.one->sim().pause();
  game.run_for(32s);
  game.one->sim().resume();
  game.run_for(5s);
  REQUIRE(game.one->fenced_with.has_value());
  // As a session's turn does that has begun before.
  std::optional<Result<Message>> outcome;
  Envelope late = note_to("anna", "late");
  late.reply = ReplySink([&](Result<Message> result) { outcome = std::move(result); });
  game.one->core().router->submit(std::move(late));
  game.run_for(10s);
  REQUIRE(outcome.has_value());
  check_error(*outcome, ErrorKind::Unavailable);
  CHECK(game.journal().count("anna notes late") == 0);
}

TEST_CASE("no turn goes on once a stop has begun to free the ids", "[LOSS-05][MSG-03]") {
  OneNode one;
  one->born("anna", "pawn");
  Latch endless;
  bool goes_on = false;
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await endless.wait();
    goes_on = true;
    co_return probe::Poked{};
  };
  const auto outcome = one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
  });
  one.run_for(100ms);
  one.sim.store.behavior().min_latency = 500ms;
  one.sim.store.behavior().max_latency = 500ms;
  // The deadline, what is left to the last turns, and half of the first commit.
  one.sim.world.after(2450ms, [&] { endless.open(); });
  one->stop(2s);
  CHECK_FALSE(goes_on);
  one.run_for(10ms);
  REQUIRE(outcome->has_value());
  check_error(**outcome, ErrorKind::ShuttingDown);
}

TEST_CASE("a claim that is dropped is not granted any more") {
  OneNode one;
  one->born("anna", "pawn");
  const auto anna = one->core().registry->find_actor("anna");
  bool is_granted = false;
  anna->claim([] {});
  anna->claim([&] { is_granted = true; });
  anna->drop_claims();
  anna->release_claim();
  CHECK_FALSE(anna->mailbox().backlog().is_claimed);
  one.run_for(10ms);
  CHECK_FALSE(is_granted);
}

TEST_CASE("a start that a stop comes before is answered", "[STORE-10]") {
  TestWorld sim;
  Application app;
  Hooks hooks;
  configure_game(app, hooks);
  sim.store.set_available(false);
  TestNode node(sim.world, sim.store, app, "one");
  std::optional<Result<void>> started;
  node.node().start([&](Result<void> result) { started = std::move(result); });
  sim.run_for(1s);
  REQUIRE_FALSE(started.has_value());
  node.stop(1s);
  REQUIRE(started.has_value());
  check_error(*started, ErrorKind::ShuttingDown);
}

TEST_CASE("a start that loses its lease is answered", "[STORE-10]") {
  TestWorld sim;
  Application app;
  Hooks hooks;
  configure_game(app, hooks);
  TestNode node(sim.world, sim.store, app, "one");
  std::optional<Result<void>> started;
  node.node().start([&](Result<void> result) { started = std::move(result); });
  REQUIRE(sim.world.run_until([&] { return node.core().lease->view().is_held; }, 10s) ==
          testing::SimOutcome::Done);
  fence(sim, node);
  REQUIRE(sim.world.run_until([&] { return node.fenced_with.has_value(); }, 60s) ==
          testing::SimOutcome::Done);
  REQUIRE(started.has_value());
  check_error(*started, ErrorKind::Unavailable, "lease");
}

TEST_CASE("an Actor is not made at a node that has no Entry Spot yet", "[CREATE-01]") {
  TestWorld sim;
  Application app;
  Hooks hooks;
  configure_game(app, hooks);
  TestNode node(sim.world, sim.store, app, "one");
  std::optional<Result<void>> started;
  node.node().start([&](Result<void> result) { started = std::move(result); });
  REQUIRE(sim.world.run_until([&] { return node.core().lease->view().is_held; }, 10s) ==
          testing::SimOutcome::Done);
  REQUIRE(node.core().entry_spots.empty());
  std::optional<CreateEnd> end;
  node.core().creations->begin({.kind = TargetKind::Actor,
                                .id = "anna",
                                .type = *StableType::parse("pawn"),
                                .mesh = node.core().application.find_mesh("play"),
                                .accepts_existing = false,
                                .request = {},
                                .deadline = node.core().now() + 5s,
                                .operation = {}},
                               [&](CreateEnd result) { end = std::move(result); });
  REQUIRE(sim.world.run_until([&] { return end.has_value(); }, 10s) == testing::SimOutcome::Done);
  check_error(end->result, ErrorKind::Unavailable, "no Entry Spot");
  CHECK(end->is_turned_away);
  sim.run_for(1s);
  CHECK(started.has_value());
  node.born("anna", "pawn");
}
