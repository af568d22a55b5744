// The PerActor Spot of the storm's game, and the game as a whole.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include <spotmesh/spotmesh.hpp>

#include "probe.packets.hpp"
#include "storm_game.hpp"

namespace spotmesh::storm {

// Members, the Spot and each of its timers at the same time, each of them one turn at a time.
class Plaza : public PerActorSpot<Walker> {
 public:
  Plaza(SpotContext& context, Verdict& verdict) : PerActorSpot(context), verdict_(verdict) {}

  static void handlers(Handlers<Plaza>& on) {
    on.send(&Plaza::wish);
    on.request(&Plaza::poke);
    on.timer("tick", std::chrono::milliseconds(2), &Plaza::tick);
    on.timer("tock", std::chrono::milliseconds(2), &Plaza::tock);
  }
  Task<void> on_joined_actor(Walker& walker) override { return touch(walker); }
  Task<void> on_leave_actor(Walker& walker) override { return touch(walker); }
  Task<void> on_disconnect_actor(Walker& walker) override {
    verdict_.disconnects.fetch_add(1);
    return touch(walker);
  }
  Result<void> wish(Walker& walker, const probe::Wish& wish) const {
    const Inside inside(walker.running, verdict_);
    walker.touches += *price_.get();
    return wish_of(walker, wish);
  }
  probe::Poked poke(const probe::Poke& poke) {
    const Inside here(running_, verdict_);
    price_.publish(++touches_);
    return probe::Poked{.value = poke.value};
  }
  Task<void> tick() const {
    const Inside here(ticking_, verdict_);
    (void)co_await context().run_cpu_worker([] {}).submit();
  }
  void tock() const { const Inside here(tocking_, verdict_); }

 private:
  Task<void> touch(Walker& walker) {
    const Inside here(running_, verdict_);
    ++touches_;
    ++walker.touches;
    co_return;
  }

  Verdict& verdict_;
  Published<int> price_;
  mutable std::atomic<int> ticking_{0};
  mutable std::atomic<int> tocking_{0};
  std::atomic<int> running_{0};
  int touches_ = 0;
};

inline void configure(Application& app, Verdict& verdict) {
  auto& play = app.mesh("play").object_server();
  play.entry_spot<Square>([&verdict](auto& f) {
    f.create_with(
        [&verdict](SpotContext& context) { return std::make_unique<Square>(context, verdict); });
  });
  play.actor<Walker>("walker", [&verdict](auto& f) {
    f.disable_relocation().create_with(
        [&verdict](ActorContext& context) { return std::make_unique<Walker>(context, verdict); });
  });
  play.user_spot<Plaza>("plaza", [&verdict](auto& f) {
    f.per_actor().disable_relocation().create_with(
        [&verdict](SpotContext& context) { return std::make_unique<Plaza>(context, verdict); });
  });
  play.user_spot<House>("house", [&verdict](auto& f) {
    f.disable_relocation().create_with(
        [&verdict](SpotContext& context) { return std::make_unique<House>(context, verdict); });
  });
}

}  // namespace spotmesh::storm
