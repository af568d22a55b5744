// Contexts: what a game object knows about itself and may do.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <spotmesh/actors.hpp>
#include <spotmesh/closing.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/join.hpp>
#include <spotmesh/logger.hpp>
#include <spotmesh/publish.hpp>
#include <spotmesh/spots.hpp>
#include <spotmesh/task.hpp>
#include <spotmesh/time.hpp>
#include <spotmesh/timer_control.hpp>
#include <spotmesh/worker_call.hpp>

namespace spotmesh::objects {
class ActorCell;
class SpotCell;
}  // namespace spotmesh::objects

namespace spotmesh {

class Actor;

// What every context offers. A context belongs to one object and lives as long as it; its calls
// are made on that object's turns.
class Context {
 public:
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The mesh this object belongs to; empty for a session.
  std::string_view mesh_name() const;
  const NodeRid& node_rid() const;
  Actors& actors() { return actors_; }
  Spots& spots() { return spots_; }
  const Logger& log() const;

  // A publication to every Spot, on every node, that has subscribed to this topic of the channel.
  template <Packet P>
  PublishCall publish(std::string_view channel, std::string_view topic, const P& packet) {
    return publish(channel, topic, Message::of(packet));
  }
  PublishCall publish(std::string_view channel, std::string_view topic, Message message) {
    return {caller_, std::string(channel), std::string(topic), std::move(message)};
  }

  // The clock as the present turn reads it: constant until the turn ends or waits.
  Instant now() const;
  // Wall time, for people; it decides nothing.
  WallTime wall_now() const;

  // Work off the turn: `f` runs on a bounded pool for computing, or for blocking input and output.
  template <std::invocable F>
  WorkerCall<std::invoke_result_t<F>> run_cpu_worker(F f) {
    return {caller_, objects::WorkerPool::Cpu, std::move(f)};
  }
  template <std::invocable F>
  WorkerCall<std::invoke_result_t<F>> run_io_worker(F f) {
    return {caller_, objects::WorkerPool::Io, std::move(f)};
  }

 protected:
  explicit Context(objects::Caller& caller) : caller_(caller), actors_(caller), spots_(caller) {}
  ~Context() = default;

  objects::Caller& caller_;

 private:
  Actors actors_;
  Spots spots_;
};

// The client session that an Actor is bound to, if any. Any turn of the Actor.
class BoundSession {
 public:
  explicit BoundSession(objects::ActorCell& cell) : cell_(&cell) {}

  bool is_bound() const;
  // Pushes a packet to the client; it leaves when the turn ends or waits. InvalidOperation without
  // a binding.
  template <Packet P>
  Result<void> send(const P& packet) {
    return send(Message::of(packet));
  }
  Result<void> send(Message message);
  // Closes the client's connection with this reason; the Actor is unbound by that. InvalidOperation
  // without a binding.
  Result<void> disconnect(std::string reason = {});

 private:
  objects::ActorCell* cell_;
};

class ActorContext : public Context {
 public:
  const ActorId& actor_id() const;
  // Tells this incarnation of the id from every other; the same through all moves.
  ObjectGeneration object_generation() const;
  // The Spot that contains the Actor; empty while it is being created.
  std::optional<SpotId> spot_id() const;
  // This Actor as others see it now.
  ActorRef ref() const;

  BoundSession& bound_session() { return bound_session_; }
  TimerControl& timers() { return timers_; }

  // In a turn of this Actor whose type is checkpointed_by an adapter: its state is put down once
  // the turn has ended well, besides the cadence. The turn does not wait for it; what it sends may
  // be ahead of what is safe. InvalidOperation elsewhere.
  Result<void> checkpoint_after_turn();

  // Describe a Join to a User Spot, or back to the node's Entry Spot; see JoinCall::defer.
  JoinCall join_spot(std::string_view spot_id, Message request = {});
  template <Packet P>
  JoinCall join_spot(std::string_view spot_id, const P& request) {
    return join_spot(spot_id, Message::of(request));
  }
  JoinCall join_entry_spot(Message request = {});
  template <Packet P>
  JoinCall join_entry_spot(const P& request) {
    return join_entry_spot(Message::of(request));
  }

 private:
  friend class objects::ActorCell;
  ActorContext(objects::ActorCell& cell, objects::Caller& caller, objects::TimerBackend& timers);

  objects::ActorCell& cell_;
  BoundSession bound_session_;
  TimerControl timers_;
};

class SpotContext : public Context {
 public:
  const SpotId& spot_id() const;
  ObjectGeneration object_generation() const;
  // This Spot as others see it.
  SpotRef ref() const;
  TimerControl& timers() { return timers_; }

  // Members, counting those whose Join has been accepted and committed.
  std::size_t member_count() const;
  // The members of class A, in the order they joined; only in a SpotWide User Spot on a turn of its
  // gate, empty elsewhere. The pointers hold until the turn ends or waits. A member that has just
  // come is listed in its own on_joined_actor, and then from the moment on_leave_actor of the Spot
  // it left has ended: until then that callback may use the Actor.
  template <std::derived_from<Actor> A>
  std::vector<A*> members() {
    std::vector<A*> found;
    for (Actor* member : all_members()) {
      if (auto* wanted = dynamic_cast<A*>(member)) found.push_back(wanted);
    }
    return found;
  }
  // Pushes a packet to the client of every member that has one; encoded once. Only in a SpotWide
  // User Spot on a turn of its gate; InvalidOperation elsewhere.
  template <Packet P>
  Result<void> broadcast(const P& packet) {
    return broadcast(Message::of(packet));
  }
  Result<void> broadcast(Message message);

  // Closes this User Spot as soon as it has no members and this turn has ended, now or later.
  // InvalidOperation in an Entry Spot.
  Result<void> close_when_empty();

  // Ends a member of this Entry Spot as Actors::destroy does, without a membership callback.
  // InvalidOperation in a User Spot, for an Actor that is no member, and on turns that hold that
  // Actor (its own handlers, callbacks that were given it): use destroy_actor_after_turn there.
  Task<Result<bool>> destroy_actor(Actor& actor);
  // The same, begun once the turn that holds the Actor has ended; nobody waits for the outcome.
  Result<void> destroy_actor_after_turn(Actor& actor);

 private:
  friend class objects::SpotCell;
  SpotContext(objects::SpotCell& cell, objects::Caller& caller, objects::TimerBackend& timers);
  std::vector<Actor*> all_members();

  objects::SpotCell& cell_;
  TimerControl timers_;
};

}  // namespace spotmesh
