// Node: one whole node, world-free: an Application brought to life on a World.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "mesh/metrics.hpp"
#include "mesh/options.hpp"
#include "node/world.hpp"
#include "objects/frozen_application.hpp"
#include "objects/objects_node.hpp"
#include "objects/seams.hpp"
#include "stream/client_links.hpp"
#include "stream/stream_options.hpp"
#include "stream/stream_server.hpp"

namespace spotmesh::node {

struct NodeOptions {
  std::string prefix = "node";
  objects::ObjectsConfig objects;
  stream::StreamOptions stream;
  stream::ListenOptions listen;
  // Where clients may come over TCP without WebSocket, if anywhere; its framing is that.
  std::optional<stream::ListenOptions> tcp_listen;
  // Used when the world has a Transport.
  mesh::MeshOptions mesh;
};

// Idle -> Preparing -> Serving -> Draining -> Stopped; Preparing, Serving -> Error. The table is
// framework/docs/node.md.
enum class NodeState : std::uint8_t { Idle, Preparing, Serving, Draining, Stopped, Error };
std::string_view to_string(NodeState state);

class Node {
 public:
  // `application` and everything in `world` outlive the node. ConfigurationError when the
  // application needs a part that the world lacks.
  Node(const objects::FrozenApplication& application, const World& world, NodeOptions options);
  // Only in Idle, Stopped or Error, or after abandon().
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Acquires the lease, publishes the node, then lets clients in. `done` is called once, on any
  // thread: Serving, or the reason why not, after which the node is in Error.
  void start(std::function<void(Result<void>)> done);
  // Lets no client in any more, closes the sessions, lets what is under way end until `deadline`
  // from now, gives the lease back. `done` is called once, on any thread. Allowed in every state.
  void stop(Duration deadline, std::function<void()> done);
  // Called once, on any thread, when the node has lost its lease for good and serves no longer.
  // Set before start().
  void on_lost(std::function<void(std::string reason)> callback);
  // The process is gone: nothing runs, nobody is told. For simulated crashes.
  void abandon();

  NodeState state() const;
  // Whether this node's lease lets turns run at this moment. Any thread.
  bool is_admitted() const;
  // For tests and the admin side.
  objects::ObjectsNode& objects() const;
  const objects::NodeIdentity& identity() const;
  // Null without a gateway.
  const stream::StreamServer* stream() const;
  // Null without sessions with other nodes.
  const mesh::MeshMetrics* mesh_metrics() const;
  // The port clients connect to; 0 before Serving and without a gateway.
  std::uint16_t stream_port() const;
  // … and that of clients without WebSocket.
  std::uint16_t tcp_port() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace spotmesh::node
