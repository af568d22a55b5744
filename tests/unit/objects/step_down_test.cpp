// What ends with an object that its node steps down from.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "checks.hpp"
#include "forgetful.hpp"
#include "objects/creations.hpp"
#include "objects/farewells.hpp"
#include "objects/joins.hpp"
#include "objects/registry.hpp"
#include "objects/router.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

class Yard : public PerActorSpot<Pawn> {
 public:
  Yard(SpotContext& context, Hooks& hooks) : PerActorSpot(context), hooks_(hooks) {}
  static void handlers(Handlers<Yard>& on) {
    on.send(&Yard::wish);
    on.timer("tick", 100ms, &Yard::tick);
  }
  Task<JoinDecision> on_actor_join(std::string_view, const Message&) override {
    co_return JoinDecision::accept();
  }
  Task<Result<void>> wish(Pawn& pawn, const probe::Wish& wish) const {
    return wish_join(pawn, wish);
  }
  Task<void> tick(const TimerTick& tick) const {
    if (hooks_.spot_tick) co_await hooks_.spot_tick(context(), tick);
    hooks_.journal.note("ticked");
  }

 private:
  Hooks& hooks_;
};

// Made before the world that uses them.
struct YardHooks {
  Hooks yard_hooks;
};

struct Rooms : YardHooks, Forgetful {
  Rooms()
      : Forgetful([this](ObjectServer& play) {
          play.user_spot<Yard>("yard", [this](auto& f) {
            f.per_actor().disable_relocation().create_with([this](SpotContext& context) {
              return std::make_unique<Yard>(context, yard_hooks);
            });
          });
        }) {}
  Hooks& hooks() { return one.hooks; }
  void join(const std::string& id, const std::string& spot) {
    REQUIRE(one->send(id, probe::Wish{.spot = spot, .timeout_ms = 60'000}).has_value());
    one.run_for(1s);
  }
  // Handlers of `Poke` end when the latch is opened.
  void hold_pokes(Latch& latch) {
    hooks().poke = [&latch](ActorContext&, SpotContext&,
                            const probe::Poke&) -> Task<Result<probe::Poked>> {
      co_await latch.wait();
      co_return probe::Poked{};
    };
  }
  void lose_spot(const std::string& id) {
    usurp_spot(id);
    one.sim.store.fail_over(0s);
    one.run_for(8s);
  }
};

}  // namespace

TEST_CASE("a Join to a room that its node steps down from fails at once", "[STORE-08]") {
  Rooms world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  Latch latch;
  world.hooks().on_actor_join = [&](SpotContext&, std::string_view,
                                    const Message&) -> Task<JoinDecision> {
    co_await latch.wait();
    co_return JoinDecision::accept();
  };
  world.join("anna", "red");
  REQUIRE(world.one->core().joins->under_way() == 1);
  world.lose_spot("red");
  CHECK(world.one->core().joins->under_way() == 0);
  CHECK(world.one.journal().count("completed anna failed Unavailable") == 1);
  CHECK(world.serves("anna"));
}

TEST_CASE("a Join whose last callback is dropped with its room ends all the same", "[STORE-08]") {
  Rooms world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  Latch latch;
  world.hooks().on_joined = [&](SpotContext&, Actor&) -> Task<void> { co_await latch.wait(); };
  world.join("anna", "red");
  REQUIRE(world.one->core().joins->under_way() == 1);
  world.lose_spot("red");
  CHECK(world.one->core().joins->under_way() == 0);
}

TEST_CASE(
    "a Join that waits for the turns of an Actor that is stepped down from keeps no room open",
    "[STORE-08]") {
  Rooms world;
  const ActorRef anna = world.one->born("anna", "pawn");
  const SpotRef red = world.one->room("red", "room");
  const BindingIdentity binding{SessionId{1, 1}, LifecycleId{2, 2}, NodeRid{"gate"}, 1};
  world.one->bindings().bind(anna, binding, [](Result<void>) {});
  Latch admission;
  Latch farewell;
  world.hooks().on_actor_join = [&](SpotContext&, std::string_view,
                                    const Message&) -> Task<JoinDecision> {
    co_await admission.wait();
    co_return JoinDecision::accept();
  };
  world.hooks().on_disconnect = [&](SpotContext&, Actor&) -> Task<void> {
    co_await farewell.wait();
  };
  world.join("anna", "red");
  world.one->bindings().session_ended(anna.actor_id, binding);
  world.one.run_for(1s);
  admission.open();
  world.one.run_for(1s);
  REQUIRE(world.one->core().joins->under_way() == 1);
  world.usurp("anna");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(30s);
  CHECK(world.one->metrics().stepped_down_objects.value() == 1);
  CHECK(world.one->core().joins->under_way() == 0);
  CHECK(world.one->close(red) == true);
}

TEST_CASE("members of a room that is stepped down from leave no record behind", "[STORE-08]") {
  const std::string type = GENERATE(as<std::string>(), "room", "yard");
  Rooms world;
  world.one->born("anna", "pawn");
  world.one->room("red", type);
  world.join("anna", "red");
  REQUIRE(world.one->spot_of("anna")->spot_id.text() == "red");
  world.lose_spot("red");
  CHECK(world.one->metrics().stepped_down_objects.value() == 2);
  CHECK(world.actors() == 0);
  // Once the new epoch's quiet time is over.
  world.one.run_for(30s);
  CHECK_FALSE(world.actor("anna").has_value());
}

TEST_CASE("a tick of a PerActor Spot does not outlive it", "[STORE-08][PERACTOR-01]") {
  Rooms world;
  Latch latch;
  bool has_begun = false;
  world.yard_hooks.spot_tick = [&](SpotContext&, const TimerTick&) -> Task<void> {
    has_begun = true;
    co_await latch.wait();
  };
  world.one->room("red", "yard");
  world.one.run_for(1s);
  REQUIRE(has_begun);
  world.lose_spot("red");
  latch.open();
  world.one.run_for(1s);
  CHECK(world.yard_hooks.journal.count("ticked") == 0);
}

TEST_CASE("an Entry Spot whose record is damaged takes nobody in any more", "[STORE-08]") {
  Rooms world;
  const auto& mesh = *world.one->core().application.find_mesh("play");
  world.put(keys::spot(world.one->core().entry_spot(mesh)->id()), to_bytes("nonsense"));
  world.one.sim.store.fail_over(0s);
  world.one.run_for(30s);
  REQUIRE(world.one->metrics().stepped_down_objects.value() == 1);
  check_error(world.one->create("anna", "pawn"), ErrorKind::Unavailable, "no Entry Spot");
}

TEST_CASE("a Spot that lives on hears that a member leaves whom its node steps down from",
          "[STORE-08]") {
  const auto [spot, leaving] = GENERATE(table<std::string, std::string>(
      {{"", "on_leave_actor hall anna"}, {"red", "on_leave_actor red anna"}}));
  Rooms world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  if (!spot.empty()) world.join("anna", spot);
  const auto before = world.one.journal().count(leaving);
  world.usurp("anna");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(8s);
  REQUIRE(world.one->metrics().stepped_down_objects.value() == 1);
  CHECK(world.one.journal().count(leaving) == before + 1);
}

TEST_CASE(
    "a room that is to close when it is empty closes when its last member is stepped down "
    "from",
    "[STORE-08]") {
  Rooms world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  world.hooks().on_joined = [](SpotContext& context, Actor&) -> Task<void> {
    CHECK(context.close_when_empty().has_value());
    co_return;
  };
  Latch farewell;
  world.hooks().on_leave = [&](SpotContext& context, Actor&) -> Task<void> {
    if (context.spot_id().text() == "red") co_await farewell.wait();
  };
  world.join("anna", "red");
  world.usurp("anna");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(30s);
  // Not before it has let go of the member.
  CHECK(world.one.journal().count("on_closing red Empty") == 0);
  farewell.open();
  world.one.run_for(1s);
  CHECK(world.one.journal().count("on_closing red Empty") == 1);
  CHECK_FALSE(world.get(keys::spot(*SpotId::parse("red"))).has_value());
}

TEST_CASE("a member that is stepped down from leaves when its turn has ended, and is in no list",
          "[STORE-08]") {
  Rooms world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  world.join("anna", "red");
  Latch latch;
  world.hooks().poke = [&](ActorContext& context, SpotContext&,
                           const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    world.one.journal().note("poked " + context.actor_id().text());
    co_return probe::Poked{};
  };
  std::optional<std::size_t> listed;
  std::optional<std::size_t> counted;
  world.hooks().on_leave = [&](SpotContext& context, Actor&) -> Task<void> {
    if (context.spot_id().text() != "red") co_return;
    listed = context.members<Pawn>().size();
    counted = context.member_count();
  };
  world.one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
  });
  world.one.run_for(1s);
  world.usurp("anna");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(8s);
  REQUIRE(world.one->metrics().stepped_down_objects.value() == 1);
  CHECK(world.one.journal().count("on_leave_actor red anna") == 0);
  latch.open();
  world.one.run_for(1s);
  CHECK(world.one.journal().count("on_leave_actor red anna") == 1);
  CHECK(world.one.journal().count("poked anna") == 0);
  CHECK(listed == 0U);
  CHECK(counted == 0U);
}

TEST_CASE("a member that is stepped down from between two Spots leaves each once it is in",
          "[STORE-08]") {
  Rooms world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  Latch latch;
  world.hooks().on_joined = [&](SpotContext&, Actor&) -> Task<void> { co_await latch.wait(); };
  world.join("anna", "red");
  REQUIRE(world.one.journal().count("on_joined_actor red anna") == 1);
  world.usurp("anna");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(8s);
  REQUIRE(world.one->metrics().stepped_down_objects.value() == 1);
  latch.open();
  world.one.run_for(1s);
  CHECK(world.one.journal().count("on_leave_actor hall anna") == 1);
  CHECK(world.one.journal().count("on_leave_actor red anna") == 1);
  CHECK(world.one->core().joins->under_way() == 0);
}

TEST_CASE("a room that its node steps down from while a member leaves keeps nothing",
          "[STORE-08]") {
  Rooms world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  world.join("anna", "red");
  Latch latch;
  world.hold_pokes(latch);
  world.one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
  });
  world.one.run_for(1s);
  world.usurp("anna");
  world.one.sim.store.fail_over(0s);
  world.one.run_for(8s);
  REQUIRE(world.one->core().farewells->under_way() == 1);
  world.lose_spot("red");
  CHECK(world.one->core().farewells->under_way() == 0);
  CHECK(world.one.journal().count("on_leave_actor red anna") == 0);
}

TEST_CASE("whoever waits for a room and its members learns that their node steps down from them",
          "[STORE-08][MSG-03]") {
  Rooms world;
  world.one->born("anna", "pawn");
  world.one->room("red", "room");
  world.join("anna", "red");
  // A handler that does not end keeps the room's gate; another request waits behind it.
  Latch endless;
  world.hold_pokes(endless);
  const auto handled = world.one->begin<Result<probe::Poked>>([](Context& context) {
    return context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(600s).submit();
  });
  world.one.run_for(1s);
  std::optional<Result<Message>> waiting;
  Envelope second;
  second.id = "anna";
  second.message = Message::of(probe::Poke{});
  second.reply = ReplySink([&](Result<Message> result) { waiting = std::move(result); });
  world.one->core().router->submit(std::move(second));
  const auto refused = world.one->core().metrics.refused_messages.value();
  world.one.run_for(1s);
  world.lose_spot("red");
  REQUIRE(handled->has_value());
  check_error(**handled, ErrorKind::Unavailable);
  REQUIRE(waiting.has_value());
  check_error(*waiting, ErrorKind::Unavailable);
  CHECK(world.one->core().metrics.refused_messages.value() == refused + 2);
}
