// The settings of a node's mesh sessions.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include <spotmesh/limits.hpp>
#include <spotmesh/time.hpp>

#include "mesh/peers.hpp"

namespace spotmesh::mesh {

// What one lane holds for one peer until it is acknowledged: a message beyond either is refused.
// An empty lane takes any message.
struct LaneBound {
  std::size_t messages = 0;
  std::size_t bytes = 0;
};

struct MeshOptions {
  // Nodes of one cluster have the same name (1 to 255 bytes) and the same secret (1 byte or more;
  // 16 random ones or more, wherever strangers can connect). The secret is never sent.
  std::string cluster = "spotmesh";
  std::string secret;
  // "host:port"; empty: this node dials, and nobody can dial it.
  std::string listen_address;
  // Where other nodes dial this one, "host:port"; empty: what it is bound to.
  std::string advertised_address;

  std::array<LaneBound, lane_count> lanes = {
      LaneBound{limits::mesh_control_messages, limits::mesh_control_bytes},
      LaneBound{limits::mesh_lane_messages, limits::mesh_lane_bytes},
      LaneBound{limits::mesh_bulk_messages, limits::mesh_bulk_bytes},
  };
  // Bytes of Messages, and of Bulk, that may be on their way at once: what Control can come to
  // stand behind.
  std::size_t window_bytes = limits::mesh_window_bytes;

  Duration heartbeat_interval = limits::mesh_heartbeat_interval;
  Duration handshake_timeout = limits::mesh_handshake_timeout;
  // How long it may take until the advertised address leads to this node.
  Duration address_check_time = std::chrono::seconds(10);
  Duration acknowledgement_delay = limits::mesh_acknowledgement_delay;
  // Between two attempts to reach a peer: doubling from the first to the last, with jitter.
  Duration first_retry = limits::mesh_first_retry;
  Duration last_retry = limits::mesh_last_retry;
};

}  // namespace spotmesh::mesh
