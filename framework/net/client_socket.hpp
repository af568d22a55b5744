// The client end of a WebSocket connection, as bytes: for bots, tools and tests, which wait in
// line for what comes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/random.hpp"

namespace spotmesh::net {

struct ClientEndpoint {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::string path = "/stream";
  std::string subprotocol = "spotmesh.v1.json";
};

// A connection after its HTTP upgrade; framing is the wire module's. Every call blocks for at most
// its timeout. For one thread at a time.
class ClientSocket {
 public:
  // Connects and upgrades. Unavailable: nobody listens there, or the server did not take the
  // upgrade (its answer is in the message); ProtocolError: it answered something else;
  // DeadlineExceeded.
  static Result<ClientSocket> open(const ClientEndpoint& endpoint, Random& random,
                                   Duration timeout);

  ClientSocket(ClientSocket&&) noexcept;
  ClientSocket& operator=(ClientSocket&&) noexcept;
  ~ClientSocket();

  // Writes all of it. Unavailable when the connection is gone, DeadlineExceeded when the server
  // does not read; the connection is closed then.
  Result<void> send(ByteView bytes, Duration timeout);
  // What has come, at least one byte; Unavailable once the connection has ended, DeadlineExceeded
  // when nothing came, and then it may be called again.
  Result<Bytes> receive(Duration timeout);
  // Ends the connection at once, without a word.
  void close();

 private:
  struct Connection;
  explicit ClientSocket(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace spotmesh::net
