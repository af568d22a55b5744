// ObjectsNode: the object side of one node: its lease, its Actors and Spots, and what they say to
// each other.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "mesh/peers.hpp"
#include "objects/caller.hpp"
#include "objects/frozen_application.hpp"
#include "objects/metrics.hpp"
#include "objects/seams.hpp"
#include "objects/session_routes.hpp"

namespace spotmesh::objects {

class Core;

class ObjectsNode {
 public:
  // `application` outlives it, as do the seams. ConfigurationError when the lease's times do not go
  // together.
  ObjectsNode(const FrozenApplication& application, NodeIdentity identity, ObjectsConfig config,
              const Seams& seams);
  // After stop() was answered, or after abandon(), and not within a callback of this node.
  ~ObjectsNode();
  ObjectsNode(const ObjectsNode&) = delete;
  ObjectsNode& operator=(const ObjectsNode&) = delete;

  // Before start(): where pushes go. Without it nothing can be bound.
  void set_sessions(SessionRoutes& sessions);
  // Before start(): the sessions with other nodes. Without them every other node is out of reach.
  // What they are told goes to peer_handler().
  void set_peers(mesh::Peers& peers);
  // Before start(): "host:port" at which they reach this node.
  void set_advertised_address(std::string address);
  mesh::PeerHandler& peer_handler();
  // Where the others are, as far as this node knows.
  const mesh::AddressBook& addresses() const;
  // Before start(): told once, on the strand, when the lease is lost for good. This run of the node
  // is over then: nothing of it runs, writes or pushes any more.
  void on_fenced(std::function<void(std::string reason)> told);

  // Before start(): told once during a stop, on the strand, when this node has said all that it
  // will say and its records are gone. The lease is given back when `go_on` has been called, from
  // any thread: whoever looks at it then takes nothing any more of what is still on its way.
  void on_leaving(std::function<void(std::function<void()> go_on)> told);

  // Acquires the lease, makes the Entry Spots, publishes the node as Serving. `done` is called
  // once, on the strand. A store that is away is waited for.
  void start(std::function<void(Result<void>)> done);
  // Takes no new objects, memberships and bindings at once (ShuttingDown), closes the User Spots
  // (on_closing, Shutdown), lets what was accepted end until `deadline`, completes what still waits
  // with ShuttingDown, deletes the records and gives the lease back, so that every id is free at
  // once. `done` is called once, on the strand.
  void stop(Instant deadline, std::function<void()> done);
  // The process has died, as far as anybody can see: turns, timers and what is under way simply
  // end.
  void abandon();

  Bindings& bindings();
  // For the context of one session.
  std::unique_ptr<Caller> new_session_caller(const SessionId& session);

  const NodeIdentity& identity() const;
  const Metrics& metrics() const;
  // For tests and the admin side; its parts tell in which thread they may be read.
  Core& core() { return *core_; }

 private:
  class Starting;
  class Stopping;

  void on_lease_lost(const std::string& reason);
  void let_go();

  std::unique_ptr<Core> core_;
  std::unique_ptr<class DescriptorPublisher> publisher_;
  std::unique_ptr<class TurnWatch> turn_watch_;
  std::function<void(std::string)> fenced_;
  std::function<void(std::function<void()>)> leaving_;
  std::unique_ptr<Starting> starting_;
  std::unique_ptr<Stopping> stopping_;
};

}  // namespace spotmesh::objects
