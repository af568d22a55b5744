// What is still on its way when a route, a node or its lease ends, or before it has started.
#include <catch2/catch.hpp>
#include <functional>
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

struct Configured {
  Configured() { configure_game(app, hooks); }

  TestWorld sim;
  Application app;
  Hooks hooks;
};

// A node that may be watched while it starts.
struct Starting : Configured {
  void begin() {
    node.node().start([this](Result<void> result) { started = std::move(result); });
  }
  void run_until(const std::function<bool()>& condition) {
    REQUIRE(sim.world.run_until(condition, 60s) == testing::SimOutcome::Done);
  }

  std::optional<Result<void>> started;
  TestNode node{sim.world, sim.store, app, "one"};
};

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
  const auto refused = one->core().metrics.refused_messages.value();
  one->core().router->submit(note_to("anna", "behind it"));
  one.sim.store.behavior().min_latency = 500ms;
  one.sim.store.behavior().max_latency = 500ms;
  // The deadline, what is left to the last turns, and half of the first commit.
  one.sim.world.after(2450ms, [&] { endless.open(); });
  one->stop(2s);
  CHECK_FALSE(goes_on);
  CHECK(one->core().metrics.refused_messages.value() == refused + 1);
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
  Starting game;
  game.sim.store.set_available(false);
  game.begin();
  game.sim.run_for(1s);
  REQUIRE_FALSE(game.started.has_value());
  game.node.stop(1s);
  REQUIRE(game.started.has_value());
  check_error(*game.started, ErrorKind::ShuttingDown);
}

TEST_CASE("a start that loses its lease is answered", "[STORE-10]") {
  Starting game;
  game.begin();
  game.run_until([&] { return game.node.core().lease->view().is_held; });
  fence(game.sim, game.node);
  game.run_until([&] { return game.node.fenced_with.has_value(); });
  REQUIRE(game.started.has_value());
  check_error(*game.started, ErrorKind::Unavailable, "lease");
}

TEST_CASE("an Actor is not made at a node that has no Entry Spot yet", "[CREATE-01]") {
  Starting game;
  game.begin();
  game.run_until([&] { return game.node.core().lease->view().is_held; });
  REQUIRE(game.node.core().entry_spots.empty());
  std::optional<CreateEnd> end;
  game.node.core().creations->begin({.kind = TargetKind::Actor,
                                     .id = "anna",
                                     .type = *StableType::parse("pawn"),
                                     .mesh = game.node.core().application.find_mesh("play"),
                                     .accepts_existing = false,
                                     .request = {},
                                     .deadline = game.node.core().now() + 5s,
                                     .operation = {}},
                                    [&](CreateEnd result) { end = std::move(result); });
  game.run_until([&] { return end.has_value(); });
  check_error(end->result, ErrorKind::Unavailable, "no Entry Spot");
  CHECK(end->is_turned_away);
  game.sim.run_for(1s);
  CHECK(game.started.has_value());
  game.node.born("anna", "pawn");
}
