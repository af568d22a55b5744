// The storm's Actor, and how a broken rule of turns shows: as a data race, or in a count.
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

}  // namespace spotmesh::storm
