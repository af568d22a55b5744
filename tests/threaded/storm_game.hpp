// A game whose objects share state exactly as far as the rules of turns allow.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <spotmesh/spotmesh.hpp>

#include "probe.packets.hpp"
#include "storm_walker.hpp"

namespace spotmesh::storm {

// What all the Spots do with who comes and goes.
template <typename Base>
class Visited : public Base {
 public:
  Visited(SpotContext& context, Verdict& verdict) : Base(context), verdict_(verdict) {}

  Task<void> on_joined_actor(Walker& walker) override { return touch(walker); }
  Task<void> on_leave_actor(Walker& walker) override { return touch(walker); }
  Task<void> on_disconnect_actor(Walker& walker) override {
    verdict_.disconnects.fetch_add(1);
    return touch(walker);
  }

 protected:
  // Only what the gate allows: of all members where they share it, else of none.
  int touch_all() {
    const Inside here(running_, verdict_);
    for (Walker* walker : this->context().template members<Walker>()) ++walker->touches;
    return ++touches_;
  }

  Verdict& verdict_;

 private:
  Task<void> touch(Walker& walker) {
    ++walker.touches;
    touch_all();
    co_return;
  }

  std::atomic<int> running_{0};
  int touches_ = 0;
};

class Square : public Visited<EntrySpot<Walker>> {
 public:
  using Visited::Visited;

  static void handlers(Handlers<Square>& on) { on.send(&Square::wish); }
  Result<void> wish(Walker& walker, const probe::Wish& wish) const { return wish_of(walker, wish); }
};

class House : public Visited<UserSpot<Walker>> {
 public:
  using Visited::Visited;

  static void handlers(Handlers<House>& on) {
    on.send(&House::wish);
    on.request(&House::poke_all);
    on.timer("tick", std::chrono::milliseconds(3), &House::tick);
  }
  Result<void> wish(Walker& walker, const probe::Wish& wish) {
    touch_all();
    return wish_of(walker, wish);
  }
  Task<Result<probe::Poked>> poke_all(const probe::Poke& poke) {
    touch_all();
    std::string one;
    for (const Walker* walker : context().members<Walker>()) {
      one = walker->context().actor_id().text();
    }
    if (!one.empty() && poke.value % 2 == 0) {
      auto answer = co_await context().actors().request<probe::Answer>(one, probe::Ask{}).yield();
      if (!answer && answer.error().kind() == ErrorKind::DeadlineExceeded) {
        verdict_.deadlines.fetch_add(1);
      }
      touch_all();
    }
    (void)context().broadcast(probe::Note{});
    co_return probe::Poked{.value = poke.value};
  }
  void tick() { touch_all(); }
};

// Members, the Spot and each of its timers at the same time, each of them one turn at a time.
class Plaza : public Visited<PerActorSpot<Walker>> {
 public:
  using Visited::Visited;

  static void handlers(Handlers<Plaza>& on) {
    on.send(&Plaza::wish);
    on.request(&Plaza::poke);
    on.timer("tick", std::chrono::milliseconds(2), &Plaza::tick);
    on.timer("tock", std::chrono::milliseconds(2), &Plaza::tock);
  }
  Result<void> wish(Walker& walker, const probe::Wish& wish) const {
    const Inside inside(walker.running, verdict_);
    walker.touches += *price_.get();
    return wish_of(walker, wish);
  }
  probe::Poked poke(const probe::Poke& poke) {
    price_.publish(touch_all());
    return probe::Poked{.value = poke.value};
  }
  Task<void> tick() const {
    const Inside here(ticking_, verdict_);
    (void)co_await context().run_cpu_worker([] {}).submit();
  }
  void tock() const { const Inside here(tocking_, verdict_); }

 private:
  Published<int> price_;
  mutable std::atomic<int> ticking_{0};
  mutable std::atomic<int> tocking_{0};
};

template <typename Made, typename Context>
auto made_with(Verdict& verdict) {
  return [&verdict](Context& context) { return std::make_unique<Made>(context, verdict); };
}

inline void configure(Application& app, Verdict& verdict) {
  auto& play = app.mesh("play").object_server();
  play.entry_spot<Square>([&](auto& f) { f.create_with(made_with<Square, SpotContext>(verdict)); });
  play.actor<Walker>("walker", [&](auto& f) {
    f.disable_relocation().create_with(made_with<Walker, ActorContext>(verdict));
  });
  play.user_spot<Plaza>("plaza", [&](auto& f) {
    f.per_actor().disable_relocation().create_with(made_with<Plaza, SpotContext>(verdict));
  });
  play.user_spot<House>("house", [&](auto& f) {
    f.disable_relocation().create_with(made_with<House, SpotContext>(verdict));
  });
}

}  // namespace spotmesh::storm
