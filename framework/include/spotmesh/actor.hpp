// Actor: the base of a game's stateful objects that are found by id.
#pragma once

#include <spotmesh/context.hpp>
#include <spotmesh/join.hpp>
#include <spotmesh/task.hpp>

namespace spotmesh {

// Derive, inherit the constructor (`using Actor::Actor;`) and register the class under a stable
// type. One instance is one activation: it lives on one node, and its handlers and callbacks run
// one at a time. Handlers are declared in `static void handlers(ActorHandlers<Self>& on)`.
class Actor {
 public:
  explicit Actor(ActorContext& context) : context_(&context) {}
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  virtual ~Actor() = default;

  // The context handed to the constructor. A factory whose product shows another one fails the
  // creation.
  ActorContext& context() const { return *context_; }

  // Once per activation, on the Actor's first turn, before on_create_actor and any message. A throw
  // fails the creation.
  virtual void configure() {}

  // The outcome of a Join this Actor registered, before every message that waited behind it. A turn
  // of the Actor in the Spot where it now is; no Join can be registered here. May be delivered
  // again with the same operation id while this process lives. A throw is logged and counted.
  virtual Task<void> on_join_completed(const JoinCompletion& completion);

 private:
  ActorContext* context_;
};

}  // namespace spotmesh
