// Timers over days: on an Actor, on a Spot, and on a Spot that gives each key a gate.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "checks.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

constexpr Duration period = 45s;

// What one timer has told.
struct Record {
  void note(const TimerTick& tick, Instant now, Duration period) {
    if (ticks == 0) first = now;
    ++ticks;
    is_even = is_even && tick.delivery_index == ticks && tick.scheduled_index == ticks &&
              tick.skipped == 0;
    const Duration late = now - (first + period * static_cast<Duration::rep>(ticks - 1));
    // Of the first tick's lateness, too, which the others are measured from.
    worst = std::max({worst, late, -late});
  }
  std::uint64_t ticks = 0;
  Instant first;
  Duration worst{};
  bool is_even = true;
};

using Records = std::map<std::string, Record>;

class Clock : public UserSpot<Pawn> {
 public:
  Clock(SpotContext& context, Records& records) : UserSpot(context), records_(records) {}
  static void handlers(Handlers<Clock>& on) { on.timer("beat", period, &Clock::beat); }
  void beat(const TimerTick& tick) { records_["spot"].note(tick, context().now(), period); }

 private:
  Records& records_;
};

class Tower : public PerActorSpot<Pawn> {
 public:
  Tower(SpotContext& context, Records& records) : PerActorSpot(context), records_(records) {}
  static void handlers(Handlers<Tower>& on) { on.timer("beat", period, &Tower::beat); }
  void beat(const TimerTick& tick) const { records_["key"].note(tick, context().now(), period); }

 private:
  Records& records_;
};

}  // namespace

TEST_CASE("timers of Actors and Spots neither stop nor drift in two days", "[TIMER-04]") {
  Records records;
  Hooks hooks;
  Application app;
  configure_game(app, hooks, [&](ObjectServer& play) {
    play.user_spot<Clock>("clock", [&](auto& f) {
      f.disable_relocation().create_with(
          [&](SpotContext& context) { return std::make_unique<Clock>(context, records); });
    });
    play.user_spot<Tower>("tower", [&](auto& f) {
      f.disable_relocation().create_with(
          [&](SpotContext& context) { return std::make_unique<Tower>(context, records); });
    });
  });
  hooks.tick = [&](ActorContext& context, const TimerTick& tick) -> Task<void> {
    records["actor"].note(tick, context.now(), period);
    co_return;
  };
  hooks.poke = [](ActorContext& context, SpotContext&,
                  const probe::Poke&) -> Task<Result<probe::Poked>> {
    CHECK(context.timers().start("tick", period).has_value());
    co_return probe::Poked{};
  };
  TestWorld sim;
  TestNode node(sim.world, sim.store, app, "one");
  REQUIRE(node.start().has_value());
  node.room("clock", "clock");
  node.room("tower", "tower");
  node.born("anna", "pawn");
  REQUIRE(node.request<probe::Poked>("anna", probe::Poke{}).has_value());
  constexpr std::uint64_t ticks = 48h / period;
  sim.run_for(48h);
  REQUIRE(records.size() == 3);
  for (const auto& [owner, record] : records) {
    INFO(owner);
    CHECK(record.ticks + 1 >= ticks);
    CHECK(record.is_even);
    CHECK(record.worst < 10ms);
  }
}

TEST_CASE(
    "timers of a second and of an hour tick as often as three days have of them, whatever the "
    "node's clock is worth",
    "[TIMER-04]") {
  constexpr Duration days = 72h;
  Records records;
  // What it costs to renew a lease is no part of this.
  ObjectsConfig config;
  config.lease.renew_interval = 60s;
  config.lease.ttl = 200s;
  OneNode one({}, 1, config);
  one.hooks.tick = [&](ActorContext& context, const TimerTick& tick) -> Task<void> {
    const bool is_anna = context.actor_id().text() == "anna";
    records[context.actor_id().text()].note(tick, context.now(), is_anna ? 1s : 1h);
    co_return;
  };
  one.hooks.poke = [](ActorContext& context, SpotContext&,
                      const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    CHECK(context.timers().start("tick", std::chrono::seconds(poke.value)).has_value());
    co_return probe::Poked{};
  };
  one->born("anna", "pawn");
  one->born("berta", "pawn");
  // The node's seconds are not the world's, and change their length on the way.
  one->sim().clock().set_drift(400);
  one.sim.world.after(days / 2, [&] { one->sim().clock().set_drift(-200); });
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{.value = 1}).has_value());
  REQUIRE(one->request<probe::Poked>("berta", probe::Poke{.value = 3600}).has_value());
  const Instant begun = one->sim().clock().now();
  const Instant begun_in_world = one.sim.world.now();
  REQUIRE(one.sim.world.run_until([&] { return one->sim().clock().now() - begun >= days + 500ms; },
                                  days + 1min) == testing::SimOutcome::Done);
  CHECK(one.sim.world.now() - begun_in_world < days - 20s);
  CHECK(records["anna"].ticks == days / Duration(1s));
  CHECK(records["berta"].ticks == days / Duration(1h));
  for (const auto& [owner, record] : records) {
    INFO(owner);
    CHECK(record.is_even);
    CHECK(record.worst < 10ms);
  }
  CHECK_FALSE(one->fenced_with.has_value());
  CHECK(one->request<probe::Answer>("anna", probe::Ask{}).has_value());
}
