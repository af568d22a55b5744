// StreamOptions: the bounds of a gateway and its sessions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <spotmesh/limits.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::stream {

// What each bound means to a client stands in schemas/STREAM.md.
struct StreamOptions {
  std::size_t sessions = limits::stream_sessions;
  std::size_t message_bytes = limits::stream_message_bytes;
  std::size_t outbound_bytes = limits::stream_outbound_bytes;
  Duration slow_reader_time = limits::stream_slow_reader_time;
  // What stands unsent for so long is too old, however little it is.
  Duration outbound_age = limits::stream_outbound_age;
  // What one client may send; 0: any number. The bursts are what it may have saved up.
  std::size_t messages_per_second = limits::stream_messages_per_second;
  std::size_t message_burst = limits::stream_message_burst;
  std::size_t bytes_per_second = limits::stream_bytes_per_second;
  std::size_t byte_burst =
      limits::stream_byte_burst;  // at least message_bytes, whatever stands here
  Duration quota_patience = limits::stream_quota_patience;
  std::size_t inbound_jobs = limits::stream_inbound_jobs;
  std::size_t requests_in_flight = limits::stream_requests_in_flight;
  Duration request_timeout = limits::stream_request_timeout;
  std::size_t bound_actors = limits::stream_bound_actors;
  Duration handshake_timeout = limits::stream_handshake_timeout;
  // Links that have not said Hello; one more pushes out the oldest.
  std::size_t handshakes = limits::stream_handshakes;
  // Connections of one address, 0: any number; and the addresses for which that does not hold.
  std::size_t connections_per_address = limits::stream_connections_per_address;
  std::vector<std::string> proxies;
  Duration heartbeat_interval = limits::stream_heartbeat_interval;
  Duration replaced_close_delay = limits::replaced_session_close_delay;
};

}  // namespace spotmesh::stream
