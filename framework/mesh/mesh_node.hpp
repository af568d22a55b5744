// MeshNode: the Peers of a node, over a Transport.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/log.hpp"
#include "base/random.hpp"
#include "mesh/metrics.hpp"
#include "mesh/options.hpp"
#include "mesh/peers.hpp"
#include "mesh/transport.hpp"
#include "runtime/clock.hpp"
#include "runtime/faults.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/timers.hpp"

namespace spotmesh::mesh {

// All of it outlives the MeshNode.
struct MeshSeams {
  runtime::Clock& clock;
  runtime::Scheduler& scheduler;
  runtime::Timers& timers;
  Transport& transport;
  Random& random;
  LogSink& log;
  EventSink& events;
  const AddressBook& addresses;
  PeerHandler& handler;
  runtime::Faults* faults = nullptr;  // null in production
};

// One strand serves all peers; what the handler is told comes on it. A link that was dialled once
// is kept for as long as the session lasts, and redialled when it is lost.
class MeshNode final : public Peers {
 public:
  // `self` is this run of the node. ConfigurationError when the cluster's name or secret is
  // missing, the name is too long, or an option is not above zero.
  MeshNode(Peer self, MeshOptions options, const MeshSeams& seams);
  // Only before start(), when stop() is done, or after abandon().
  ~MeshNode() override;
  MeshNode(const MeshNode&) = delete;
  MeshNode& operator=(const MeshNode&) = delete;

  // Listens, if it is told to; then peers may come. The value is the address that is bound, empty
  // when none is. InvalidOperation and Unavailable as Transport::listen() has them. Once.
  Result<std::string> start();
  // Whether other nodes can reach this one at `address`: it is dialled from here. `done` is called
  // once, on any thread: Unavailable, with the address and what was found there, when it has not
  // led to this run within MeshOptions::address_check_time; ShuttingDown when stop() comes first;
  // never after abandon(). Once, after start().
  void check_address(std::string address, std::function<void(Result<void>)> done);
  // Accepts no message any more, gives the peers until `linger` from now to acknowledge what they
  // were sent, and ends every session (on_ended() with ShuttingDown). `done` is called once, on any
  // thread, when no connection is left and the handler is called no more. Once, after start().
  void stop(Duration linger, std::function<void()> done);
  // The process is gone: nothing runs, nobody is told. The scheduler runs nothing any more. For
  // simulated crashes.
  void abandon();

  // Any thread, from start() on.
  Result<void> send(const Peer& to, Lane lane, SharedBytes message) override;
  void end(const Peer& peer, const Error& reason) override;
  bool is_over(const Peer& peer) const override;

  const Peer& self() const;
  const MeshMetrics& metrics() const;

 private:
  class Driver;
  std::unique_ptr<Driver> driver_;
};

}  // namespace spotmesh::mesh
