// The Spots of the tests' game.
#pragma once

#include <string>
#include <utility>

#include <spotmesh/spotmesh.hpp>

#include "game.hpp"
#include "probe.packets.hpp"

namespace spotmesh::objects {

// Messages of members that both kinds of Spot handle.
inline Task<Result<void>> wish_join(Pawn& pawn, const probe::Wish& wish) {
  auto call = wish.spot.empty() ? pawn.context().join_entry_spot()
                                : pawn.context().join_spot(wish.spot, probe::Note{.text = "in"});
  if (wish.timeout_ms > 0) call.timeout(std::chrono::milliseconds(wish.timeout_ms));
  auto deferred = call.defer();
  if (!deferred) co_return fail(deferred.error());
  pawn.hooks().journal.note("deferred " + pawn.name());
  co_return {};
}

class Hall : public EntrySpot<Pawn> {
 public:
  Hall(SpotContext& context, Hooks& hooks) : EntrySpot(context), hooks_(hooks) {}

  static void handlers(Handlers<Hall>& on) {
    on.send(&Hall::wish);
    on.request(&Hall::poke);
    on.request(&Hall::describe);
  }

  void configure() override { hooks_.journal.note("configure hall"); }
  Task<CreateDecision> on_create_actor(Pawn& pawn, const Message& request) override {
    hooks_.journal.note("on_create_actor " + pawn.name());
    if (hooks_.on_create_actor) co_return co_await hooks_.on_create_actor(pawn, request);
    co_return CreateDecision::accept();
  }
  Task<JoinDecision> on_actor_join(std::string_view id, const Message& request) override {
    hooks_.journal.note("on_actor_join hall " + std::string(id));
    if (hooks_.on_actor_join) co_return co_await hooks_.on_actor_join(context(), id, request);
    co_return JoinDecision::accept();
  }
  Task<void> on_joined_actor(Pawn& pawn) override {
    hooks_.journal.note("on_joined_actor hall " + pawn.name());
    if (hooks_.on_joined) co_await hooks_.on_joined(context(), pawn);
  }
  Task<void> on_leave_actor(Pawn& pawn) override {
    hooks_.journal.note("on_leave_actor hall " + pawn.name());
    if (hooks_.on_leave) co_await hooks_.on_leave(context(), pawn);
  }
  Task<void> on_disconnect_actor(Pawn& pawn) override {
    hooks_.journal.note("on_disconnect_actor hall " + pawn.name());
    if (hooks_.on_disconnect) co_await hooks_.on_disconnect(context(), pawn);
  }

  Task<Result<void>> wish(Pawn& pawn, const probe::Wish& wish) const {
    return wish_join(pawn, wish);
  }
  Task<Result<probe::Poked>> poke(Pawn& pawn, const probe::Poke& poke) const {
    hooks_.journal.note("hall pokes " + pawn.name());
    if (hooks_.poke) co_return co_await hooks_.poke(pawn.context(), context(), poke);
    co_return probe::Poked{.value = poke.value, .text = "hall"};
  }
  probe::Answer describe(const probe::Ask& ask) { return {.value = ask.value, .text = "hall"}; }

 private:
  Hooks& hooks_;
};

class Room : public UserSpot<Pawn> {
 public:
  Room(SpotContext& context, Hooks& hooks) : UserSpot(context), hooks_(hooks) {}

  static void handlers(Handlers<Room>& on) {
    on.send(&Room::wish);
    on.request(&Room::poke);
    on.request(&Room::poke_spot);
    on.request(&Room::describe);
    on.send(&Room::blob);
    on.timer("tick", &Room::tick);
    on.timer("tock", &Room::tock);
  }

  void configure() override { hooks_.journal.note("configure room"); }
  Task<CreateDecision> on_create(const Message& request) override {
    hooks_.journal.note("on_create " + name());
    if (hooks_.on_create) co_return co_await hooks_.on_create(context(), request);
    co_return CreateDecision::accept();
  }
  Task<JoinDecision> on_actor_join(std::string_view id, const Message& request) override {
    hooks_.journal.note("on_actor_join " + name() + " " + std::string(id));
    if (hooks_.on_actor_join) co_return co_await hooks_.on_actor_join(context(), id, request);
    co_return JoinDecision::accept(probe::Note{.text = "welcome"});
  }
  Task<void> on_joined_actor(Pawn& pawn) override {
    hooks_.journal.note("on_joined_actor " + name() + " " + pawn.name());
    if (hooks_.on_joined) co_await hooks_.on_joined(context(), pawn);
  }
  Task<void> on_leave_actor(Pawn& pawn) override {
    hooks_.journal.note("on_leave_actor " + name() + " " + pawn.name());
    if (hooks_.on_leave) co_await hooks_.on_leave(context(), pawn);
  }
  Task<void> on_disconnect_actor(Pawn& pawn) override {
    hooks_.journal.note("on_disconnect_actor " + name() + " " + pawn.name());
    if (hooks_.on_disconnect) co_await hooks_.on_disconnect(context(), pawn);
  }
  Task<void> on_closing(ClosingReason reason, Instant) override {
    hooks_.journal.note("on_closing " + name() + " " + std::string(to_string(reason)));
    co_return;
  }

  Task<Result<void>> wish(Pawn& pawn, const probe::Wish& wish) { return wish_join(pawn, wish); }
  Task<Result<probe::Poked>> poke(Pawn& pawn, const probe::Poke& poke) {
    hooks_.journal.note(name() + " pokes " + pawn.name());
    ++pokes_;
    if (hooks_.poke) co_return co_await hooks_.poke(pawn.context(), context(), poke);
    co_return probe::Poked{.value = pokes_, .text = name()};
  }
  Task<Result<probe::Poked>> poke_spot(const probe::Poke& poke) {
    hooks_.journal.note(name() + " is poked");
    if (hooks_.poke_spot) co_return co_await hooks_.poke_spot(context(), poke);
    co_return probe::Poked{.value = pokes_, .text = name()};
  }
  probe::Answer describe(const probe::Ask& ask) { return {.value = ask.value, .text = name()}; }
  void blob(const probe::Blob& blob) {
    hooks_.journal.note(name() + " got " + std::to_string(blob.bytes.size()));
  }
  Task<void> tick(const TimerTick& tick) {
    hooks_.journal.note("tick " + name());
    if (hooks_.spot_tick) co_await hooks_.spot_tick(context(), tick);
  }
  void tock(const TimerTick&) { hooks_.journal.note("tock " + name()); }

  std::string name() const { return context().spot_id().text(); }

 private:
  Hooks& hooks_;
  int pokes_ = 0;
};

}  // namespace spotmesh::objects
