// Timers of an Actor, started by the callbacks of the Entry Spot, which has a gate of its own.
#include <catch2/catch.hpp>

#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

Task<void> start_tick(SpotContext&, Actor& actor) {
  CHECK(actor.context().timers().start_once("tick", 1s));
  co_return;
}

}  // namespace

TEST_CASE("callbacks that are given an Actor start and cancel its timers") {
  OneNode one;
  one.hooks.on_create_actor = [](Actor& actor, const Message&) -> Task<CreateDecision> {
    CHECK(actor.context().timers().start_once("tick", 1s));
    co_return CreateDecision::accept();
  };
  one->born("anna", "pawn");
  one.run_for(2s);
  CHECK(one.journal().count("tick anna") == 1);

  one->room("red", "room");
  one.hooks.on_joined = start_tick;
  one.hooks.on_leave = [](SpotContext&, Actor& actor) -> Task<void> {
    CHECK(actor.context().timers().cancel("tick"));
    co_return;
  };
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(2s);
  REQUIRE(one->send("anna", probe::Wish{}).has_value());
  one.run_for(2s);
  CHECK(one.journal().count("on_joined_actor hall anna") == 1);
  CHECK(one.journal().count("tick anna") == 1);
}

TEST_CASE("an Actor's timers are closed to turns that do not hold it") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("bert", "pawn");
  ActorContext* anna = nullptr;
  one.hooks.poke = [&](ActorContext& context, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    if (anna == nullptr) {
      anna = &context;
    } else {
      const auto started = anna->timers().start_once("tick", 1s);
      CHECK(started.error().kind() == ErrorKind::InvalidOperation);
      CHECK_FALSE(anna->timers().cancel("tick"));
    }
    co_return probe::Poked{};
  };
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  REQUIRE(one->request<probe::Poked>("bert", probe::Poke{}).has_value());
}
