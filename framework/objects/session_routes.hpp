// The boundary between objects and client sessions: what each side does for the other. The stream
// module implements SessionRoutes, this module implements Bindings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "objects/reply_function.hpp"

namespace spotmesh::objects {

// One binding of an Actor to a session; kept at the Actor. Whatever names another one is stale.
struct BindingIdentity {
  SessionId session;
  LifecycleId session_owner;  // the node run that accepted the session
  NodeRid session_node;
  std::uint64_t generation = 0;  // grows with each bind that this session owner makes
  friend bool operator==(const BindingIdentity&, const BindingIdentity&) = default;
};

// Implemented by stream. Called on turns of Actors and Spots and on the node's strand; safe from
// any thread, never blocks, calls nothing back inside the call.
class SessionRoutes {
 public:
  virtual ~SessionRoutes() = default;
  // Queues a push for the client; it is written when the present turn ends or waits
  // (Turn::flush_at_end), at once outside a turn. Unavailable when the session has ended.
  virtual Result<void> push(const BindingIdentity& binding, const Message& message) = 0;
  // Closes the client's connection in order. Bindings::session_ended follows for each bound Actor.
  virtual void disconnect(const BindingIdentity& binding, std::string reason) = 0;
  // Another session has taken the Actor; the old one gets its on_replaced callback and is closed.
  virtual void on_replaced(const BindingIdentity& old_binding, const ActorRef& actor) = 0;
  // The Actor was destroyed: forget the binding.
  virtual void on_actor_gone(const BindingIdentity& binding, const ActorId& actor) = 0;
};

// Implemented by objects, for Actors of this node and of others. Called by stream from session
// turns; safe from any thread. Callbacks come exactly once, on any thread, never inside the call,
// and must only hand over.
class Bindings {
 public:
  virtual ~Bindings() = default;

  // Unavailable: nothing lives under the ref's id, or its owner is away. InvalidOperation: another
  // incarnation lives there, or the identity is older than the present binding's. ShuttingDown.
  // DeadlineExceeded: the Actor's node has not answered in time; should it bind yet, it is undone.
  virtual void bind(const ActorRef& actor, BindingIdentity binding,
                    std::function<void(Result<void>)> done) = 0;
  // Ends the binding if it is still this one; otherwise changes nothing and succeeds.
  // DeadlineExceeded: the Actor's node has not answered in time; it learns it when it is reached.
  virtual void unbind(const ActorId& actor, BindingIdentity binding,
                      std::function<void(Result<void>)> done) = 0;
  // The connection has ended: the Actor is unbound and on_disconnect_actor runs once on the Spot it
  // is in then. A stale identity changes nothing.
  virtual void session_ended(const ActorId& actor, BindingIdentity binding) = 0;

  // A packet of the client for its bound Actor, in client order; one call at a time per binding.
  // `message` is taken only if the call succeeds. `reply` is null for a one-way packet, and
  // otherwise called once, unless `deadline` comes first, which is when the session stops waiting;
  // if this call fails, the caller disarms it. CapacityExceeded: the mailbox or the way to it is
  // full, stop reading and try this packet again. InvalidOperation: the binding is stale.
  // Unavailable: the Actor is gone, or its node.
  virtual Result<void> relay(const ActorId& actor, const BindingIdentity& binding,
                             Message&& message, std::optional<Instant> deadline,
                             const std::shared_ptr<ReplyFunction>& reply) = 0;
};

}  // namespace spotmesh::objects
