// A small game that does what its messages say, and writes down what happens to it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <spotmesh/spotmesh.hpp>

#include "journal.hpp"
#include "probe.packets.hpp"

namespace spotmesh::objects {

// What callbacks do beyond writing themselves down; a test sets what it needs.
struct Hooks {
  Journal journal;
  std::function<Task<CreateDecision>(Actor&, const Message&)> on_create_actor;
  std::function<Task<CreateDecision>(SpotContext&, const Message&)> on_create;
  std::function<Task<JoinDecision>(SpotContext&, std::string_view, const Message&)> on_actor_join;
  std::function<Task<void>(SpotContext&, Actor&)> on_joined;
  std::function<Task<void>(SpotContext&, Actor&)> on_leave;
  std::function<Task<void>(SpotContext&, Actor&)> on_disconnect;
  std::function<Task<void>(ActorContext&, const JoinCompletion&)> on_join_completed;
  std::function<void(ActorContext&)> configure;
  // What a handler does: `Poke` to an Actor, `Poke` to a Spot, and the timers.
  std::function<Task<Result<probe::Poked>>(ActorContext&, SpotContext&, const probe::Poke&)> poke;
  std::function<Task<Result<probe::Poked>>(SpotContext&, const probe::Poke&)> poke_spot;
  std::function<Task<void>(ActorContext&, const TimerTick&)> tick;
  std::function<Task<void>(SpotContext&, const TimerTick&)> spot_tick;
  // What the last `Ask` had left of its requester's time.
  std::optional<Duration> time_left;
};

inline std::string text_of(const JoinCompletion& completion) {
  if (const auto* accepted = std::get_if<JoinAccepted>(&completion)) {
    return accepted->reply.is_empty() ? "accepted" : "accepted with a reply";
  }
  if (std::holds_alternative<JoinRejected>(completion)) return "rejected";
  return "failed " + std::string(to_string(std::get<JoinFailed>(completion).error.kind()));
}

class Pawn : public Actor {
 public:
  Pawn(ActorContext& context, Hooks& hooks) : Actor(context), hooks_(hooks) {}

  static void handlers(ActorHandlers<Pawn>& on) {
    on.send(&Pawn::note);
    on.request(&Pawn::ask);
    on.timer("tick", &Pawn::tick);
  }

  void configure() override {
    hooks_.journal.note("configure " + name());
    if (hooks_.configure) hooks_.configure(context());
  }
  Task<void> on_join_completed(const JoinCompletion& completion) override {
    hooks_.journal.note("completed " + name() + " " + text_of(completion));
    if (hooks_.on_join_completed) co_await hooks_.on_join_completed(context(), completion);
  }

  void note(const probe::Note& note, const MessageContext& context) {
    std::string line = name() + " notes " + note.text;
    for (const auto& [key, value] : context.metadata()) line += " " + key + "=" + value;
    hooks_.journal.note(std::move(line));
  }
  probe::Answer ask(const probe::Ask& ask, const MessageContext& message) {
    ++asked_;
    hooks_.time_left = message.deadline().value() - context().now();
    return {.value = ask.value + 1, .text = name() + " asked " + std::to_string(asked_)};
  }
  Task<void> tick(const TimerTick& tick) {
    hooks_.journal.note("tick " + name());
    if (hooks_.tick) co_await hooks_.tick(context(), tick);
  }

  std::string name() const { return context().actor_id().text(); }
  Hooks& hooks() const { return hooks_; }

 private:
  Hooks& hooks_;
  int asked_ = 0;
};

class Rook : public Pawn {
 public:
  using Pawn::Pawn;
};

}  // namespace spotmesh::objects
