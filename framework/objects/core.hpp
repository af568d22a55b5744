// Core: what all parts of one node's object side share. ObjectsNode makes it and takes it apart.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "objects/frozen_application.hpp"
#include "objects/live_gates.hpp"
#include "objects/metrics.hpp"
#include "objects/seams.hpp"
#include "runtime/admission.hpp"
#include "runtime/gate.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/strand.hpp"

namespace spotmesh::objects {

class BindingTable;
class Capacity;
class Checkpoints;
class Creations;
class Destructions;
class Farewells;
class Inquiries;
class Joins;
class LeaseDriver;
class NodeDirectory;
class PeerEnds;
class PeerPort;
class Publications;
class Registry;
class RemoteBindings;
class RemoteSessions;
class RequestTable;
class Reassertions;
class Router;
class SessionRoutes;
class SpotCell;
class StoreOperations;
class StorePort;
class StrandLink;
class Subscribers;
class Subscriptions;

// Data plane (mailboxes, registry, requests, routes, bindings): any thread, under small locks of
// their own. Control plane (everything that drives a machine): jobs of `strand`, which also owns
// the control state of all cells.
class Core {
 public:
  Core(const FrozenApplication& application, NodeIdentity identity, ObjectsConfig config,
       const Seams& seams);
  ~Core();

  const FrozenApplication& application;
  const NodeIdentity identity;
  const ObjectsConfig config;
  const Seams seams;

  Metrics metrics;
  // Cells may outlive the node, kept by what was under way for them.
  const std::shared_ptr<LiveGates> gates = std::make_shared<LiveGates>();
  runtime::Strand strand;
  // For what may still be under way when the node has ended.
  const std::shared_ptr<StrandLink> link;
  runtime::DeadlineAdmission admission;
  // This node's gateway; null when it has none. Set before the start. What is said to the session
  // of an Actor goes through remote_sessions, wherever it lives.
  SessionRoutes* sessions = nullptr;

  std::unique_ptr<PeerPort> peers;
  std::unique_ptr<Registry> registry;
  std::unique_ptr<RequestTable> requests;
  std::unique_ptr<Capacity> capacity;
  std::unique_ptr<StorePort> store;
  std::unique_ptr<LeaseDriver> lease;
  std::unique_ptr<StoreOperations> operations;
  std::unique_ptr<NodeDirectory> directory;
  std::unique_ptr<Router> router;
  std::unique_ptr<Reassertions> reassertions;
  std::unique_ptr<Checkpoints> checkpoints;
  std::unique_ptr<Creations> creations;
  std::unique_ptr<Destructions> destructions;
  std::unique_ptr<PeerEnds> ends;
  std::unique_ptr<Inquiries> inquiries;
  std::unique_ptr<Joins> joins;
  std::unique_ptr<Farewells> farewells;
  std::unique_ptr<BindingTable> bindings;
  std::unique_ptr<RemoteBindings> remote_bindings;
  std::unique_ptr<RemoteSessions> remote_sessions;
  std::unique_ptr<Subscribers> subscribers;
  std::unique_ptr<Subscriptions> subscriptions;
  std::unique_ptr<Publications> publications;

  // Where other nodes reach this one; empty: nowhere. Set before the start.
  std::string advertised_address;

  // Set while the node starts, one per mesh that it serves.
  std::map<const MeshTypes*, runtime::Ref<SpotCell>> entry_spots;
  runtime::Ref<SpotCell> entry_spot(const MeshTypes& mesh) const;
  // Null while the node starts, and for good when it has stepped down from it. Strand only.
  runtime::Ref<SpotCell> ready_entry_spot(const MeshTypes& mesh) const;

  // Draining: no new object, membership or binding; what has been accepted goes on.
  bool is_draining() const { return phase_.load(std::memory_order_acquire) != Phase::Running; }
  // Stopped: no call of any kind.
  bool is_stopped() const { return phase_.load(std::memory_order_acquire) == Phase::Stopped; }
  void set_draining() { phase_.store(Phase::Draining, std::memory_order_release); }
  void set_stopped() { phase_.store(Phase::Stopped, std::memory_order_release); }
  // It has ended because its lease was lost: said instead of that it shuts down.
  void set_lease_lost() {
    has_lost_lease_.store(true, std::memory_order_release);
    set_stopped();
  }
  Error stopping_error() const;
  // Why this node must not say anything of what it holds; nothing while its lease admits it.
  std::optional<Error> not_admitted(const std::string& what);

  Instant now() const { return seams.clock.now(); }
  runtime::Ref<runtime::Gate> new_gate();
  void log(LogLevel level, std::string message, std::vector<LogField> fields = {}) const;
  // What an operation found, if that was a record that does not parse: named and counted.
  void quarantine(const Error& error);
  void emit(std::string_view kind, std::string subject, std::vector<LogField> fields = {}) const;

 private:
  enum class Phase : std::uint8_t { Running, Draining, Stopped };
  std::atomic<Phase> phase_{Phase::Running};
  std::atomic<bool> has_lost_lease_{false};
};

}  // namespace spotmesh::objects
