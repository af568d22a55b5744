// A client's connection to a STREAM gateway, for programs that wait in line: bots, tools, tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <spotmesh/client/client.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::client {

struct ConnectionOptions {
  // As those of ClientOptions.
  std::string url = "ws://127.0.0.1:8080/stream";
  Form form = Form::Binary;
  // What the server and this program may say to each other: `tictactoe::packets()`.
  PacketSet packets;
  // How long a call waits for the server.
  Duration timeout = std::chrono::seconds(10);
  // How much may wait for next_push(), counting a push as its payload and 128 bytes.
  std::size_t pushes_bytes = 16 * limits::mebibyte;
};

// A Client that polls itself: calls block, for at most the options' timeout or what they are given,
// and come from one thread at a time; the server's pings are answered inside them. Once the
// connection has ended they are Unavailable and say how it ended.
//
// Pushes are kept until next_push() takes them. When more of them wait than the options allow, the
// call that received them ends the connection and is CapacityExceeded; what was kept before can
// still be taken.
class Connection {
 public:
  // Errors as those of Client::open(), or the kind of the Ending and what it says: Unavailable when
  // nobody listens there or the server refused the connection, DeadlineExceeded when it did not
  // answer.
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

  // Sends a one-way packet, and returns when all of it was. DeadlineExceeded: the server does not
  // read; the connection is cut then.
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
