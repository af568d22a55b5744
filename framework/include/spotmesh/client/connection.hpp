// A client's connection to a STREAM gateway, for programs that wait in line: bots, tools, tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::client {

struct ConnectionOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string path = "/stream";
  // What the server and this program may say to each other: `tictactoe::packets()`.
  PacketSet packets;
  // How long a call waits for the server.
  Duration timeout = std::chrono::seconds(10);
  // How much may wait for next_push(), counting a push as its payload and 128 bytes.
  std::size_t pushes_bytes = 16 * limits::mebibyte;
};

// Speaks spotmesh.v1.json over WebSocket. Calls block, for at most the options' timeout or what
// they are given, and come from one thread at a time; the server's pings are answered inside them.
// Once the connection has ended they are Unavailable and say how it ended.
//
// Pushes are kept until next_push() takes them. When more of them wait than the options allow, the
// call that received them ends the connection and is CapacityExceeded; what was kept before can
// still be taken.
class Connection {
 public:
  // Unavailable: nobody listens there, or the server refused the connection; the message says what
  // it answered. DeadlineExceeded: it did not answer.
  static Result<Connection> open(const ConnectionOptions& options);

  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  // The reply, or the error that the server answered with; what is pushed meanwhile is kept.
  // DeadlineExceeded: no answer in time; one that comes later is dropped. NotFound: the packet is
  // none of the options'. ProtocolError: the reply is another packet.
  template <Packet Reply, Packet P>
  Result<Reply> request(const P& packet) {
    auto reply = request(Message::of(packet));
    if (!reply) return fail(reply.error());
    return reply->template decode<Reply>();
  }
  Result<Message> request(const Message& packet);

  // Sends a one-way packet.
  template <Packet P>
  Result<void> send(const P& packet) {
    return send(Message::of(packet));
  }
  Result<void> send(const Message& packet);

  // The oldest push that has not been taken. DeadlineExceeded: none came in time.
  Result<Message> next_push(Duration timeout);

  // Ends the connection as a lost network does: without a word.
  void cut();

 private:
  class Parts;
  explicit Connection(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace spotmesh::client
