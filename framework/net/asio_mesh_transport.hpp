// The production Transport: connections between nodes over TCP.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <spotmesh/time.hpp>

#include "base/log.hpp"
#include "mesh/transport.hpp"

namespace spotmesh::net {

class WorkerPool;

struct MeshTransportOptions {
  Duration dial_time = std::chrono::seconds(3);            // until a dial has failed
  Duration accept_pause = std::chrono::milliseconds(100);  // while the system has no descriptors
  // A peer that does not read what is said at the end is not waited for: the session goes on over
  // another connection.
  Duration flush_time = std::chrono::milliseconds(500);
  Duration linger_time = std::chrono::milliseconds(500);
};

// Each frame stands behind its length, in 4 bytes, little-endian. A connection's handler is called
// on the worker that the connection lives on; what is sent leaves at the end of the sender's batch.
class AsioMeshTransport final : public mesh::Transport {
 public:
  // Both outlive this object; the pool runs until close() has returned.
  AsioMeshTransport(WorkerPool& pool, LogSink& log, MeshTransportOptions options = {});
  ~AsioMeshTransport() override;  // close()

  Result<std::string> listen(std::string address, mesh::ConnectionAcceptor& acceptor) override;
  void stop_listening() override;
  void dial(std::string address, mesh::DialHandler& handler) override;

  // Stops listening, ends all connections and dials, and waits until their handlers have been told.
  // Not to be called from a worker.
  void close();

  // Ends all connections and dials that there are, with a reset: what is under way is lost, as when
  // a network breaks. Others may follow at once.
  void reset_connections();
  // Connections, and dials that may become one.
  std::size_t connections() const;

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace spotmesh::net
