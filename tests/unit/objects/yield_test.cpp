// Giving the gate back, workers and timers.
#include <catch2/catch.hpp>
#include <string>

#include "checks.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// anna and berta in "red".
void gather(OneNode& one) {
  one->room("red", "room");
  for (const std::string id : {"anna", "berta"}) {
    one->born(id, "pawn");
    REQUIRE(one->send(id, probe::Wish{.spot = "red"}).has_value());
  }
  one.run_for(1s);
  one.journal().take();
}

}  // namespace

TEST_CASE("a yielded request frees the gate and keeps the Actor", "[YIELD-01][YIELD-02]") {
  OneNode one;
  gather(one);
  one->born("carla", "pawn");
  Latch latch;
  one.hooks.poke = [&](ActorContext& context, SpotContext& spot,
                       const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (context.actor_id().text() == "carla") {
      co_await latch.wait();
      co_return probe::Poked{};
    }
    if (poke.value == 1) {
      auto reply = co_await spot.actors().request<probe::Poked>("carla", probe::Poke{}).yield();
      CHECK(reply.has_value());
    }
    co_return probe::Poked{};
  };
  TestNode& node = *one.node;
  const auto first = node.begin<int>([](Context& context) -> Task<int> {
    (void)context.actors().send("anna", probe::Note{.text = "before"}).submit();
    auto pending = context.actors().request<probe::Poked>("anna", probe::Poke{.value = 1}).submit();
    (void)context.actors().send("anna", probe::Note{.text = "behind"}).submit();
    auto fellow = co_await context.actors().request<probe::Poked>("berta", probe::Poke{}).submit();
    CHECK(fellow.has_value());
    co_return 1;
  });
  one.run_for(1s);
  CHECK(first->has_value());  // berta's turn ran meanwhile
  CHECK(one.journal().count("red pokes berta") == 1);
  CHECK(one.journal().count("anna notes before") == 1);
  CHECK(one.journal().count("anna notes behind") == 0);
  latch.open();
  one.run_for(1s);
  CHECK(one.journal().count("anna notes behind") == 1);
}

TEST_CASE("a Spot's handler that yields lets its Spot go on", "[YIELD-01]") {
  OneNode one;
  gather(one);
  Latch latch;
  one.hooks.poke_spot = [&](SpotContext& spot,
                            const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value == 1) {
      // Anna's Join away from here stands before it: only the Spot's own callbacks let it through.
      auto anna = co_await spot.actors().request<probe::Answer>("anna", probe::Ask{}).yield();
      CHECK(anna.has_value());
    }
    if (poke.value == 2) {
      auto self = co_await spot.spots().request<probe::Poked>("red", probe::Poke{}).yield();
      CHECK(self.has_value());
      check_error(co_await spot.spots().request<probe::Poked>("red", probe::Poke{}).submit(),
                  ErrorKind::InvalidOperation, "this very turn");
    }
    co_return probe::Poked{.value = poke.value};
  };
  one.hooks.on_actor_join = [&](SpotContext&, std::string_view,
                                const Message&) -> Task<JoinDecision> {
    co_await latch.wait();
    co_return JoinDecision::accept();
  };
  REQUIRE(one->send("anna", probe::Wish{}).has_value());
  const auto poked = one->begin<int>([](Context& context) -> Task<int> {
    auto reply =
        co_await context.spots().request<probe::Poked>("red", probe::Poke{.value = 1}).submit();
    co_return reply ? reply->value : 0;
  });
  one.run_for(1s);
  CHECK_FALSE(poked->has_value());
  latch.open();
  one.run_for(1s);
  CHECK(*poked == 1);
  CHECK(one.journal().count("completed anna accepted") == 1);
  CHECK(one->request_of_spot<probe::Poked>("red", probe::Poke{.value = 2})->value == 2);
}

TEST_CASE("a Spot closes when its handlers have ended, those that yielded included", "[YIELD-01]") {
  OneNode one;
  const SpotRef red = one->room("red", "room");
  one->born("carla", "pawn");
  Latch latch;
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  one.hooks.poke_spot = [&](SpotContext& spot, const probe::Poke&) -> Task<Result<probe::Poked>> {
    auto carla = co_await spot.actors().request<probe::Poked>("carla", probe::Poke{}).yield();
    CHECK(carla.has_value());
    one.journal().note("poke ends");
    co_return probe::Poked{};
  };
  TestNode& node = *one.node;
  const auto poked = node.begin<bool>([](Context& context) -> Task<bool> {
    co_return (co_await context.spots().request<probe::Poked>("red", probe::Poke{}).submit())
        .has_value();
  });
  one.run_for(1s);
  one.journal().take();
  const auto closed = node.begin<bool>([red](Context& context) -> Task<bool> {
    co_return (co_await context.spots().close(red)) == true;
  });
  one.run_for(1s);
  CHECK(one.journal().lines().empty());
  latch.open();
  one.run_for(1s);
  CHECK(*poked == true);
  CHECK(*closed == true);
  CHECK(one.journal().take() == std::vector<std::string>{"poke ends", "on_closing red Requested"});
}

TEST_CASE("yield is refused where no gate is shared, and nothing is sent", "[YIELD-03]") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  one->room("red", "room");
  one.hooks.poke = [](ActorContext& context, SpotContext&,
                      const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value == 0) co_return probe::Poked{};
    check_error(co_await context.actors().request<probe::Poked>("berta", probe::Poke{}).yield(),
                ErrorKind::InvalidOperation, "yield");
    check_error(co_await context.run_cpu_worker([] { return 1; }).yield(),
                ErrorKind::InvalidOperation, "yield");
    check_error(co_await context.actors().create("carla", "pawn").yield(),
                ErrorKind::InvalidOperation, "yield");
    check_error(co_await context.spots().get_or_create("blue", "room").yield(),
                ErrorKind::InvalidOperation, "yield");
    co_return probe::Poked{};
  };
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{.value = 1}).has_value());
  one.hooks.on_joined = [](SpotContext& spot, Actor&) -> Task<void> {
    check_error(co_await spot.actors().request<probe::Poked>("berta", probe::Poke{}).yield(),
                ErrorKind::InvalidOperation, "yield");
  };
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(1s);
  CHECK(one.journal().count("hall pokes berta") == 0);
  CHECK_FALSE(one->find("carla").has_value());
  CHECK(one.journal().count("on_create blue") == 0);
  CHECK(one.journal().count("on_joined_actor red anna") == 1);
}

TEST_CASE("requests, worker calls and creations can yield", "[YIELD-04][TURN-12]") {
  OneNode one;
  gather(one);
  one.hooks.poke_spot = [](SpotContext& spot, const probe::Poke&) -> Task<Result<probe::Poked>> {
    auto sum = co_await spot.run_io_worker([] { return 20 + 22; }).yield();
    CHECK(sum == 42);
    auto nothing = co_await spot.run_cpu_worker([] {}).submit();
    CHECK(nothing.has_value());
    check_error(
        co_await spot.run_cpu_worker([]() -> int { throw std::runtime_error("ouch"); }).submit(),
        ErrorKind::InternalFailure, "ouch");
    auto call = spot.run_cpu_worker([] { return 1; });
    CHECK((co_await call.submit()).has_value());
    check_error(co_await call.submit(), ErrorKind::InvalidOperation, "already");
    auto carla = co_await spot.actors().create("carla", "pawn").yield();
    CHECK(carla.has_value());
    auto blue = co_await spot.spots().create("room").yield();
    CHECK(blue.has_value());
    // A member of this very gate.
    auto anna = co_await spot.actors().request<probe::Answer>("anna", probe::Ask{}).yield();
    CHECK(anna.has_value());
    co_return probe::Poked{.value = *sum};
  };
  CHECK(one->request_of_spot<probe::Poked>("red", probe::Poke{})->value == 42);
}

TEST_CASE("a deadline that passes while yielded ends the call under the gate", "[YIELD-05]") {
  OneNode one;
  gather(one);
  one->born("carla", "pawn");
  Latch never;
  one.hooks.poke = [&](ActorContext& context, SpotContext& spot,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    if (context.actor_id().text() == "carla") {
      co_await never.wait();
      co_return probe::Poked{};
    }
    auto reply =
        co_await spot.actors().request<probe::Poked>("carla", probe::Poke{}).timeout(1s).yield();
    check_error(reply, ErrorKind::DeadlineExceeded);
    co_return probe::Poked{.text = "late"};
  };
  // The room itself takes the gate before the deadline and keeps it beyond.
  Latch latch;
  one.hooks.poke_spot = [&](SpotContext&, const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  const auto both = one->begin<std::string>([](Context& context) -> Task<std::string> {
    auto anna = context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(9s).submit();
    CHECK((co_await context.actors().request<probe::Answer>("berta", probe::Ask{}).submit()));
    (void)context.spots().request<probe::Poked>("red", probe::Poke{}).timeout(9s).submit();
    auto reply = co_await std::move(anna);
    co_return reply ? reply->text : to_string(reply.error());
  });
  one.run_for(2s);
  CHECK(one.journal().count("red is poked") == 1);
  CHECK_FALSE(both->has_value());
  latch.open();
  one.run_for(1s);
  CHECK(*both == "late");
  never.open();
}

TEST_CASE("timers run on their owner's gate, restart, and end with it",
          "[TIMER-01][TIMER-02][DESTROY-01]") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  one.hooks.poke = [](ActorContext& context, SpotContext&,
                      const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    TimerControl& timers = context.timers();
    if (poke.value == 1) CHECK(timers.start("tick", 100ms).has_value());
    if (poke.value == 2) CHECK(timers.start_once("tick", 50ms).has_value());
    if (poke.value == 3) CHECK(timers.cancel("tick"));
    if (poke.value == 4) {
      check_error(timers.start("tock", 1s), ErrorKind::NotFound, "tock");
      check_error(timers.start("tick", Duration(1)), ErrorKind::InvalidOperation, "tick");
      CHECK_FALSE(timers.cancel("tock"));
    }
    co_return probe::Poked{};
  };
  const auto poke = [&](int value) {
    REQUIRE(one->request<probe::Poked>("anna", probe::Poke{.value = value}).has_value());
  };
  const auto ticks = [&] { return one.journal().count("tick anna"); };
  poke(1);
  one.run_for(1050ms);
  CHECK(ticks() == 10);
  poke(2);  // a new generation of the key: the old one ticks no more
  one.run_for(1s);
  CHECK(ticks() == 11);
  poke(1);
  poke(3);
  one.run_for(1s);
  CHECK(ticks() == 11);
  poke(4);
  poke(1);
  one.run_for(150ms);
  CHECK(ticks() == 12);
  REQUIRE(one->destroy(anna) == true);
  one.run_for(1s);
  CHECK(ticks() == 12);
}

TEST_CASE("keys of a Spot tick while the tick of another has yielded", "[TIMER-02][YIELD-01]") {
  OneNode one;
  gather(one);
  one->born("carla", "pawn");
  Latch latch;
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  one.hooks.poke_spot = [](SpotContext& spot, const probe::Poke&) -> Task<Result<probe::Poked>> {
    CHECK(spot.timers().start("tick", 100ms).has_value());
    CHECK(spot.timers().start("tock", 100ms).has_value());
    co_return probe::Poked{};
  };
  one.hooks.spot_tick = [](SpotContext& spot, const TimerTick& tick) -> Task<void> {
    if (tick.delivery_index != 1) co_return;
    auto carla = co_await spot.actors().request<probe::Poked>("carla", probe::Poke{}).yield();
    CHECK(carla.has_value());
    throw std::runtime_error("the end of a tick is told from another's");
  };
  REQUIRE(one->request_of_spot<probe::Poked>("red", probe::Poke{}).has_value());
  one.run_for(1050ms);
  CHECK(one.journal().count("tick red") == 1);
  CHECK(one.journal().count("tock red") == 10);
  CHECK(one->metrics().callback_throws.value() == 0);
  latch.open();
  one.run_for(100ms);
  CHECK(one.journal().count("tick red") == 2);
  CHECK(one->metrics().callback_throws.value() == 1);
}

TEST_CASE("a declared period starts with the Spot, and a throwing tick hurts nobody") {
  struct Clockwork : UserSpot<Pawn> {
    Clockwork(SpotContext& context, Hooks& hooks) : UserSpot(context), hooks(hooks) {}
    static void handlers(Handlers<Clockwork>& on) { on.timer("beat", 1s, &Clockwork::beat); }
    void beat(const TimerTick& tick) {
      hooks.journal.note("beat " + std::to_string(tick.delivery_index));
      if (tick.delivery_index == 2) throw std::runtime_error("skipped");
    }
    Hooks& hooks;
  };
  Hooks* hooks = nullptr;
  OneNode one([&](ObjectServer& play) {
    play.user_spot<Clockwork>("clock", [&](auto& f) {
      f.disable_relocation().create_with(
          [&](SpotContext& context) { return std::make_unique<Clockwork>(context, *hooks); });
    });
  });
  hooks = &one.hooks;
  const SpotRef clock = one->room("clock", "clock");
  one.journal().take();
  one.run_for(3500ms);
  CHECK(one.journal().take() == std::vector<std::string>{"beat 1", "beat 2", "beat 3"});
  CHECK(one->metrics().callback_throws.value() == 1);
  CHECK(one->close(clock) == true);
  one.run_for(3s);
  CHECK(one.journal().lines().empty());
}
