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
  void note(const TimerTick& tick, Instant now) {
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
  void beat(const TimerTick& tick) { records_["spot"].note(tick, context().now()); }

 private:
  Records& records_;
};

class Tower : public PerActorSpot<Pawn> {
 public:
  Tower(SpotContext& context, Records& records) : PerActorSpot(context), records_(records) {}
  static void handlers(Handlers<Tower>& on) { on.timer("beat", period, &Tower::beat); }
  void beat(const TimerTick& tick) const { records_["key"].note(tick, context().now()); }

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
    records["actor"].note(tick, context.now());
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
