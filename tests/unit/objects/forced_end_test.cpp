// The end of an Actor that an operator wants gone.
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "checks.hpp"
#include "objects/forced_end.hpp"
#include "objects/router.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// An Actor "anna" with a turn that waits for ever, and a request behind it.
struct Stuck {
  Stuck() {
    one->born("anna", "pawn");
    one.hooks.poke = [this](ActorContext&, SpotContext&,
                            const probe::Poke&) -> Task<Result<probe::Poked>> {
      co_await endless.wait();
      goes_on = true;
      co_return probe::Poked{};
    };
  }
  void stick() {
    for (std::optional<Result<Message>>* outcome : {&handled, &waiting}) {
      Envelope envelope;
      envelope.id = "anna";
      envelope.message = Message::of(probe::Poke{});
      envelope.reply = ReplySink([outcome](Result<Message> result) { *outcome = result; });
      one->core().router->submit(std::move(envelope));
      one.run_for(100ms);
    }
    REQUIRE_FALSE(handled.has_value());
  }
  std::optional<Result<void>> end(const std::string& id) {
    ended.reset();
    one->core().strand.post([this, id] {
      end_by_force(one->core(), *ActorId::parse(id), one->core().now() + 5s,
                   [this](Result<void> result) { ended = std::move(result); });
    });
    one.run_for(100ms);
    return ended;
  }

  Latch endless;
  bool goes_on = false;
  std::optional<Result<Message>> handled;
  std::optional<Result<Message>> waiting;
  std::optional<Result<void>> ended;
  OneNode one;
};

}  // namespace

TEST_CASE("an Actor whose turn does not end is ended, and its id is free") {
  Stuck game;
  game.stick();
  REQUIRE(game.end("anna").has_value());
  REQUIRE(game.ended->has_value());
  for (const auto* outcome : {&game.handled, &game.waiting}) {
    REQUIRE(outcome->has_value());
    check_error(**outcome, ErrorKind::Unavailable, "ended by an operator");
  }
  CHECK_FALSE(game.one->find("anna").has_value());
  game.endless.open();
  game.one->born("anna", "pawn");
  CHECK_FALSE(game.goes_on);
  CHECK(game.one->send("anna", probe::Note{.text = "anew"}).has_value());
  game.one.run_for(100ms);
  CHECK(game.one.journal().count("anna notes anew") == 1);
}

TEST_CASE("a room hears that a member leaves whom an operator has ended") {
  Stuck game;
  game.one->room("red", "room");
  REQUIRE(game.one->send("anna", probe::Wish{.spot = "red"}).has_value());
  game.one.run_for(1s);
  REQUIRE(game.one->spot_of("anna")->spot_id.text() == "red");
  REQUIRE(game.end("anna").has_value());
  CHECK(game.ended->has_value());
  game.one.run_for(100ms);
  CHECK(game.one.journal().count("on_leave_actor red anna") == 1);
}

TEST_CASE("an Actor that does not live here cannot be ended here") {
  Stuck game;
  REQUIRE(game.end("berta").has_value());
  check_error(*game.ended, ErrorKind::NotFound, "Actor 'berta' does not live on node one");
}

TEST_CASE("an end whose record cannot go yet says so, and goes on") {
  Stuck game;
  game.stick();
  game.one->store().set_available(false);
  CHECK_FALSE(game.end("anna").has_value());
  game.one.run_for(6s);
  REQUIRE(game.ended.has_value());
  check_error(*game.ended, ErrorKind::Unavailable);
  // It is gone from this node all the same, and its record goes when that can be.
  check_error(game.waiting.value(), ErrorKind::Unavailable);
  game.one->store().set_available(true);
  game.one.run_for(10s);
  game.one->born("anna", "pawn");
}
