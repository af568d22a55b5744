// A game whose objects share state exactly as far as the rules of turns allow, so that a broken
// rule is a data race or a wrong count.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include <spotmesh/spotmesh.hpp>

#include "probe.packets.hpp"

namespace spotmesh::storm {

// What went wrong, from any thread.
struct Verdict {
  std::atomic<int> overlaps{0};
  std::atomic<int> misplaced{0};
  std::atomic<int> joins{0};
  std::atomic<int> disconnects{0};
  std::atomic<int> deadlines{0};  // requests that nothing but their deadline has ended
};

// Counts who is inside; more than one at a time is an overlap.
class Inside {
 public:
  Inside(std::atomic<int>& count, Verdict& verdict) : count_(count) {
    if (count_.fetch_add(1) != 0) verdict.overlaps.fetch_add(1);
  }
  ~Inside() { count_.fetch_sub(1); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  std::atomic<int>& count_;
};

class Walker : public Actor {
 public:
  Walker(ActorContext& context, Verdict& verdict) : Actor(context), verdict(verdict) {}

  static void handlers(ActorHandlers<Walker>& on) {
    on.request(&Walker::ask);
    on.send(&Walker::note);
    on.timer("tick", std::chrono::milliseconds(2), &Walker::tick);
  }
  Task<void> on_join_completed(const JoinCompletion& completion) override {
    const Inside inside(running, verdict);
    ++touches;
    if (std::holds_alternative<JoinAccepted>(completion)) verdict.joins.fetch_add(1);
    co_return;
  }
  Task<probe::Answer> ask(const probe::Ask& ask) {
    const Inside inside(running, verdict);
    ++touches;
    (void)co_await context().run_cpu_worker([] {}).submit();
    co_return probe::Answer{.value = ask.value};
  }
  void note(const probe::Note&) {
    const Inside inside(running, verdict);
    ++touches;
    (void)context().bound_session().send(probe::Note{});
  }
  void tick() {
    const Inside inside(running, verdict);
    ++touches;
  }

  Verdict& verdict;
  std::atomic<int> running{0};
  int touches = 0;
};

inline Result<void> wish_of(Walker& walker, const probe::Wish& wish) {
  auto call = wish.spot.empty() ? walker.context().join_entry_spot()
                                : walker.context().join_spot(wish.spot);
  auto deferred = std::move(call).timeout(std::chrono::seconds(30)).defer();
  if (!deferred) return fail(deferred.error());
  return {};
}

class Square : public EntrySpot<Walker> {
 public:
  Square(SpotContext& context, Verdict& verdict) : EntrySpot(context), verdict_(verdict) {}

  static void handlers(Handlers<Square>& on) { on.send(&Square::wish); }
  Task<void> on_joined_actor(Walker& walker) override { return touch(walker); }
  Task<void> on_leave_actor(Walker& walker) override { return touch(walker); }
  Task<void> on_disconnect_actor(Walker& walker) override {
    verdict_.disconnects.fetch_add(1);
    return touch(walker);
  }
  Result<void> wish(Walker& walker, const probe::Wish& wish) const { return wish_of(walker, wish); }

 private:
  Task<void> touch(Walker& walker) {
    const Inside here(running_, verdict_);
    ++touches_;
    ++walker.touches;
    co_return;
  }

  Verdict& verdict_;
  std::atomic<int> running_{0};
  int touches_ = 0;
};

class House : public UserSpot<Walker> {
 public:
  House(SpotContext& context, Verdict& verdict) : UserSpot(context), verdict_(verdict) {}

  static void handlers(Handlers<House>& on) {
    on.send(&House::wish);
    on.request(&House::poke_all);
    on.timer("tick", std::chrono::milliseconds(3), &House::tick);
  }
  Task<void> on_joined_actor(Walker& walker) override { return touch(walker); }
  Task<void> on_leave_actor(Walker& walker) override { return touch(walker); }
  Task<void> on_disconnect_actor(Walker& walker) override {
    verdict_.disconnects.fetch_add(1);
    return touch(walker);
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

 private:
  Task<void> touch(Walker& walker) {
    ++walker.touches;
    touch_all();
    co_return;
  }
  // Only what the shared gate allows: everything of all members.
  void touch_all() {
    const Inside here(running_, verdict_);
    ++touches_;
    for (Walker* walker : context().members<Walker>()) ++walker->touches;
  }

  Verdict& verdict_;
  std::atomic<int> running_{0};
  int touches_ = 0;
};

}  // namespace spotmesh::storm
