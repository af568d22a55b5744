// What the two ends of a simulated client connection see of it, apart from the server's ClientLink.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::testing {

// How a simulated network path behaves. Bytes of one direction are never reordered, but now and
// then a read ends in the middle of what was sent at once.
struct LinkConditions {
  Duration shortest_latency = std::chrono::microseconds(50);
  Duration longest_latency = std::chrono::milliseconds(5);
  // What the operating systems of both ends hold for a client that does not read; beyond it bytes
  // stay unsent.
  std::size_t socket_buffer_bytes = 64 * 1024;
};

// What a simulated client hears. Calls come one at a time, never from within a call to its
// connection.
class SimPeer {
 public:
  virtual ~SimPeer() = default;
  // `bytes` are valid during the call only.
  virtual void on_bytes(ByteView bytes) = 0;
  // The connection has ended; the last call.
  virtual void on_closed(std::string_view reason) = 0;
};

// The client's end of a connection. Dropping the last reference neither closes nor cuts it.
class SimConnection {
 public:
  virtual ~SimConnection() = default;
  virtual void send(Bytes bytes) = 0;
  // An orderly end: what was sent still arrives, what comes is no longer heard.
  virtual void close() = 0;
  // The device loses power: nothing more is heard in either direction and nobody is told.
  virtual void vanish() = 0;
  // A path that works one way only: nothing that is sent from now on arrives, what comes is heard.
  virtual void fall_silent() = 0;
  // A reset: what is under way is lost, both ends learn of it.
  virtual void reset() = 0;
  // The peer is going away and hears nothing more, not even the end.
  virtual void forget_peer() = 0;
  // Bytes that arrive wait in the socket buffers, then at the server.
  virtual void stop_reading() = 0;
  virtual void start_reading() = 0;
  // Bytes that have come to the server's end and wait there because it has paused reading.
  virtual std::size_t unread_bytes() const = 0;
};

}  // namespace spotmesh::testing
