// Spots: the places that contain Actors.
#pragma once

#include <concepts>
#include <string_view>

#include <spotmesh/actor.hpp>
#include <spotmesh/closing.hpp>
#include <spotmesh/context.hpp>
#include <spotmesh/decision.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/task.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::objects {
class SpotCallbacks;
}

namespace spotmesh {

// What Entry and User Spots share. Games derive from EntrySpot<A> or UserSpot<A>.
//
// Every callback is a turn of the Spot's gate. A callback that is given an Actor also holds that
// Actor: none of its handlers runs meanwhile. Unless said otherwise a throw is logged and counted
// and changes nothing.
class Spot {
 public:
  explicit Spot(SpotContext& context) : context_(&context) {}
  Spot(const Spot&) = delete;
  Spot& operator=(const Spot&) = delete;
  virtual ~Spot() = default;

  SpotContext& context() const { return *context_; }

  // Once per instance, before any other callback or message. A throw fails the creation (of the
  // Entry Spot: the node's start).
  virtual void configure() {}

 private:
  friend class objects::SpotCallbacks;
  // The typed callbacks below, without the Actor's type.
  virtual bool accepts_class_of(const Actor& actor) const = 0;
  virtual Task<CreateDecision> create(const Message& request) = 0;
  virtual Task<CreateDecision> create_actor(Actor& actor, const Message& request) = 0;
  virtual Task<JoinDecision> actor_join(std::string_view actor_id, const Message& request) = 0;
  virtual Task<void> joined_actor(Actor& actor) = 0;
  virtual Task<void> leave_actor(Actor& actor) = 0;
  virtual Task<void> disconnect_actor(Actor& actor) = 0;
  virtual Task<void> closing(ClosingReason reason, Instant deadline) = 0;

  SpotContext* context_;
};

// Where every Actor of a node starts, and where it returns. One per object server; it ends with the
// node. Members keep gates of their own and run at the same time as the Entry Spot's own turns:
// handlers for them are const member functions. `A` is the class of all members.
template <std::derived_from<Actor> A>
class EntrySpot : public Spot {
 public:
  using ActorType = A;
  static constexpr bool shares_gate_with_members = false;
  static constexpr bool has_gate_per_timer = false;
  using Spot::Spot;

  // Whether this new Actor may exist; its first membership. Accepts by default. A throw fails the
  // creation with InternalFailure.
  virtual Task<CreateDecision> on_create_actor(A& actor, const Message& request);
  // Whether a returning Actor may come in. Accepts by default. A throw fails the Join with
  // InternalFailure.
  virtual Task<JoinDecision> on_actor_join(std::string_view actor_id, const Message& request);
  // An Actor has come back from a User Spot, after the commit.
  virtual Task<void> on_joined_actor(A& actor);
  // An Actor has left for a User Spot, after the commit and after on_joined_actor there.
  virtual Task<void> on_leave_actor(A& actor);
  // The client connection of this member's session has ended; once per connection. The Actor lives
  // on.
  virtual Task<void> on_disconnect_actor(A& actor);

 private:
  bool accepts_class_of(const Actor& actor) const final {
    return dynamic_cast<const A*>(&actor) != nullptr;
  }
  Task<CreateDecision> create(const Message&) final { co_return CreateDecision::accept(); }
  Task<CreateDecision> create_actor(Actor& actor, const Message& request) final {
    return on_create_actor(static_cast<A&>(actor), request);
  }
  Task<JoinDecision> actor_join(std::string_view actor_id, const Message& request) final {
    return on_actor_join(actor_id, request);
  }
  Task<void> joined_actor(Actor& actor) final { return on_joined_actor(static_cast<A&>(actor)); }
  Task<void> leave_actor(Actor& actor) final { return on_leave_actor(static_cast<A&>(actor)); }
  Task<void> disconnect_actor(Actor& actor) final {
    return on_disconnect_actor(static_cast<A&>(actor));
  }
  Task<void> closing(ClosingReason, Instant) final { co_return; }
};

// A room, stage or zone that Actors join. SpotWide: its handlers, its members, their timers and all
// callbacks share one gate, so they may use each other's state. See PerActorSpot for the other way.
template <std::derived_from<Actor> A>
class UserSpot : public Spot {
 public:
  using ActorType = A;
  static constexpr bool shares_gate_with_members = true;
  static constexpr bool has_gate_per_timer = false;
  using Spot::Spot;

  // Whether this new Spot may exist. Accepts by default. A throw fails the creation.
  virtual Task<CreateDecision> on_create(const Message& request);
  // Whether an Actor may join; before the commit, the Actor itself is still elsewhere. Accepts by
  // default. A throw fails the Join with InternalFailure.
  virtual Task<JoinDecision> on_actor_join(std::string_view actor_id, const Message& request);
  // An Actor has joined, after the commit.
  virtual Task<void> on_joined_actor(A& actor);
  // An Actor has left, after the commit and after on_joined_actor at its new Spot.
  virtual Task<void> on_leave_actor(A& actor);
  // The client connection of this member's session has ended; once per connection. The Actor stays.
  virtual Task<void> on_disconnect_actor(A& actor);
  // The Spot ends; the last callback, once. What it starts must be done by `deadline`.
  virtual Task<void> on_closing(ClosingReason reason, Instant deadline);

 private:
  bool accepts_class_of(const Actor& actor) const final {
    return dynamic_cast<const A*>(&actor) != nullptr;
  }
  Task<CreateDecision> create(const Message& request) final { return on_create(request); }
  Task<CreateDecision> create_actor(Actor&, const Message&) final {
    co_return CreateDecision::reject();
  }
  Task<JoinDecision> actor_join(std::string_view actor_id, const Message& request) final {
    return on_actor_join(actor_id, request);
  }
  Task<void> joined_actor(Actor& actor) final { return on_joined_actor(static_cast<A&>(actor)); }
  Task<void> leave_actor(Actor& actor) final { return on_leave_actor(static_cast<A&>(actor)); }
  Task<void> disconnect_actor(Actor& actor) final {
    return on_disconnect_actor(static_cast<A&>(actor));
  }
  Task<void> closing(ClosingReason reason, Instant deadline) final {
    return on_closing(reason, deadline);
  }
};

template <std::derived_from<Actor> A>
Task<CreateDecision> EntrySpot<A>::on_create_actor(A&, const Message&) {
  co_return CreateDecision::accept();
}
template <std::derived_from<Actor> A>
Task<JoinDecision> EntrySpot<A>::on_actor_join(std::string_view, const Message&) {
  co_return JoinDecision::accept();
}
template <std::derived_from<Actor> A>
Task<void> EntrySpot<A>::on_joined_actor(A&) {
  co_return;
}
template <std::derived_from<Actor> A>
Task<void> EntrySpot<A>::on_leave_actor(A&) {
  co_return;
}
template <std::derived_from<Actor> A>
Task<void> EntrySpot<A>::on_disconnect_actor(A&) {
  co_return;
}
template <std::derived_from<Actor> A>
Task<CreateDecision> UserSpot<A>::on_create(const Message&) {
  co_return CreateDecision::accept();
}
template <std::derived_from<Actor> A>
Task<JoinDecision> UserSpot<A>::on_actor_join(std::string_view, const Message&) {
  co_return JoinDecision::accept();
}
template <std::derived_from<Actor> A>
Task<void> UserSpot<A>::on_joined_actor(A&) {
  co_return;
}
template <std::derived_from<Actor> A>
Task<void> UserSpot<A>::on_leave_actor(A&) {
  co_return;
}
template <std::derived_from<Actor> A>
Task<void> UserSpot<A>::on_disconnect_actor(A&) {
  co_return;
}
template <std::derived_from<Actor> A>
Task<void> UserSpot<A>::on_closing(ClosingReason, Instant) {
  co_return;
}

// A User Spot that many Actors use at the same time: each member keeps the gate of its own, the
// Spot's handlers and callbacks have another, and every timer key of the Spot one more. So handlers
// for members and timers are const member functions: what the Spot wants them to see it keeps in a
// Published<T>, and what is to change it gets as a message. No turn of it can yield.
template <std::derived_from<Actor> A>
class PerActorSpot : public UserSpot<A> {
 public:
  static constexpr bool shares_gate_with_members = false;
  static constexpr bool has_gate_per_timer = true;
  using UserSpot<A>::UserSpot;
};

}  // namespace spotmesh
