// Client: a program's connection to a STREAM gateway, driven by poll().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spotmesh/error.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::client {

// Which form of STREAM goes over a WebSocket: frames of FlatBuffers (spotmesh.v1), or text
// (spotmesh.v1.json) that people can read on the wire. TCP has the first alone.
enum class Form : std::uint8_t { Binary, Json };

struct ClientOptions {
  // ws://HOST:PORT/PATH, or tcp://HOST:PORT for a server with `stream.tcp`. A WebSocket's port is
  // 80 and its path /stream where they are left out; an IPv6 address stands in brackets.
  std::string url = "ws://127.0.0.1:8080/stream";
  Form form = Form::Binary;
  // What the server and this program may say to each other: `tictactoe::packets()`.
  PacketSet packets;
  // From open() until the server has let this client in.
  Duration connect_timeout = std::chrono::seconds(10);
  // Of a request that is given no time of its own. Longer than the server's own, which then says
  // itself that it found no answer.
  Duration request_timeout = std::chrono::seconds(20);
  // A server that is silent for so long is pinged, and given up after as long again.
  Duration heartbeat = std::chrono::seconds(15);
  // How long close() waits for the server to close as well.
  Duration close_timeout = std::chrono::seconds(2);
  // The longest message that is taken; at least 4,096 in the binary form, which tells the server.
  std::size_t message_bytes = limits::mebibyte;
  // What may wait to be sent.
  std::size_t outbound_bytes = limits::mebibyte;
  // Requests without an answer; the server's own bound holds as well.
  std::size_t requests_in_flight = limits::stream_requests_in_flight;
};

enum class State : std::uint8_t {
  Connecting,  // not in yet; what is said already is sent once it is
  Open,
  Closing,  // close() was called and the server has not closed yet
  Ended
};

// How a connection ended.
struct Ending {
  // Unavailable: lost, closed in order, or nobody is there. DeadlineExceeded: not let in, or silent
  // for too long. ProtocolError: one side did not understand the other. CapacityExceeded: the
  // server has no room or this client was too slow or too greedy. Rejected: the game ended it.
  // ShuttingDown, InternalFailure: the server stops or failed.
  ErrorKind kind = ErrorKind::Unavailable;
  // The close code of schemas/STREAM.md; 1006 when the connection ended without one.
  std::uint16_t code = 1006;
  std::string reason;
  // Whether it makes sense to connect again, after a growing and randomized delay.
  bool may_return = true;
};

// "4003 Replaced: the player's Actor was taken over by another session"
std::string to_string(const Ending& ending);

class ClientParts;

// All calls come from one thread at a time, and nothing happens but inside them. Handlers and what
// requests end with are called by poll() alone; they may use the client, but not poll, move or
// destroy it. A client that is destroyed, or assigned another, ends its connection without a word
// and calls nothing any more.
class Client {
 public:
  // Begins to connect; whether that succeeds on_open() or on_end() tells. Waits for the name
  // service where HOST is a name. InvalidOperation: no such URL, or options out of range.
  // Unavailable: the host has no address. Throws ConfigurationError for packets that contradict
  // each other.
  static Result<Client> open(const ClientOptions& options);

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // `done` is called once: with the reply, with the error that the server answered with, with
  // ProtocolError when the reply is another packet, with DeadlineExceeded when none came in time,
  // or with Unavailable when the connection ended first. After the last two it may have been
  // carried out. Many requests may be under way; they end in any order.
  //
  // When this call itself fails, `done` is not called: NotFound for a packet that is none of the
  // options'; CapacityExceeded when too many requests or bytes wait, or the packet is longer than
  // the server takes; Unavailable once the connection is closing or has ended; InvalidOperation for
  // a packet that JSON cannot say.
  template <Packet Reply, Packet P>
  Result<void> request(const P& packet, std::function<void(Result<Reply>)> done,
                       std::optional<Duration> timeout = {}) {
    return request(
        Message::of(packet),
        [done = std::move(done)](const Result<Message>& reply) {
          if (!reply) return done(fail(reply.error()));
          done(reply->template decode<Reply>());
        },
        timeout);
  }
  Result<void> request(const Message& packet, std::function<void(Result<Message>)> done,
                       std::optional<Duration> timeout = {});

  // A one-way packet. Errors as those of request() itself.
  template <Packet P>
  Result<void> send(const P& packet) {
    return send(Message::of(packet));
  }
  Result<void> send(const Message& packet);

  // What the server pushes: one handler for each packet, and one for all others; the last one set
  // holds. What there is no handler for is dropped. Throws ConfigurationError for a packet that is
  // none of the options'.
  template <Packet P>
  void on_push(std::function<void(const P&)> handler) {
    on_push(PacketTraits<P>::descriptor(), [handler = std::move(handler)](const Message& push) {
      // It was held to its schema when it came, so it decodes.
      handler(*push.template decode<P>());
    });
  }
  void on_push(const PacketDescriptor& packet, std::function<void(const Message&)> handler);
  void on_other_push(std::function<void(const Message&)> handler);
  // A push that this program cannot read, because it is none of the options' packets (NotFound) or
  // does not fit their schema (ProtocolError). The connection goes on.
  void on_unread_push(std::function<void(const Error&)> handler);
  // The server has let this client in. At most once.
  void on_open(std::function<void()> handler);
  // The connection has ended, or never came about; requests without an answer have ended before.
  // Once, and the last call of all.
  void on_end(std::function<void(const Ending&)> handler);

  // Writes what was said, reads what has come, and calls handlers: for some of it, then it returns,
  // so that a server which never stops does not keep it. Waits for at most `wait` until there is
  // something to call. False once the connection has ended and on_end() was called.
  bool poll(Duration wait = Duration::zero());

  // Closes in order: what was said before is sent, requests without an answer end when the server
  // has closed, and State::Closing lasts until then. The code is 1000 or of 3000 … 4999, the reason
  // at most 123 bytes of UTF-8; else InvalidOperation. Nothing happens when it is not open any
  // more.
  Result<void> close(std::uint16_t code = 1000, std::string_view reason = {});
  // Ends the connection as a lost network does: without a word, and what is unsent is dropped. The
  // next poll() tells handlers, with the reason.
  void cut(std::string_view reason = "this end has cut the connection");

  State state() const;
  // Empty until State::Ended.
  const std::optional<Ending>& ending() const;
  // The session as the server's logs name it; empty in the JSON form and before it is open.
  const std::string& session() const;
  std::size_t unanswered_requests() const;
  std::size_t unsent_bytes() const;
  // Replies that came after their requests had ended.
  std::uint64_t late_replies() const;

 private:
  explicit Client(std::unique_ptr<ClientParts> parts);

  std::unique_ptr<ClientParts> parts_;
};

}  // namespace spotmesh::client
