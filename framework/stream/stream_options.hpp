// StreamOptions: the bounds of a gateway and its sessions.
#pragma once

#include <cstddef>

#include <spotmesh/limits.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::stream {

// What each bound means to a client stands in schemas/STREAM.md.
struct StreamOptions {
  std::size_t sessions = limits::stream_sessions;
  std::size_t message_bytes = limits::stream_message_bytes;
  std::size_t outbound_bytes = limits::stream_outbound_bytes;
  Duration slow_reader_time = limits::stream_slow_reader_time;
  std::size_t inbound_jobs = limits::stream_inbound_jobs;
  std::size_t requests_in_flight = limits::stream_requests_in_flight;
  Duration request_timeout = limits::stream_request_timeout;
  std::size_t bound_actors = limits::stream_bound_actors;
  Duration handshake_timeout = limits::stream_handshake_timeout;
  // Links that have not said Hello; one more pushes out the oldest.
  std::size_t handshakes = 1024;
  Duration heartbeat_interval = limits::stream_heartbeat_interval;
  Duration replaced_close_delay = limits::replaced_session_close_delay;
};

}  // namespace spotmesh::stream
