// SimStreamClient: a game client in the simulator, for tests of one's own game.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>

namespace spotmesh::testing {

// How a connection ended, as the client saw it.
struct ClientClose {
  std::uint16_t code = 0;  // of the close frame (schemas/STREAM.md); 1006 when none came
  std::string reason;
};

// Which form of STREAM a client speaks: spotmesh.v1.json or spotmesh.v1, over WebSocket.
enum class ClientForm : std::uint8_t { Json, Binary };

class StreamClientEnd;

// A client of the STREAM protocol over a simulated connection, made by Cluster::connect(). It
// speaks the protocol to the letter, unless told to misbehave. Handlers run while the simulation
// runs, one at a time; they may use the client but not destroy it. Destroying it resets the
// connection.
class SimStreamClient {
 public:
  explicit SimStreamClient(std::unique_ptr<StreamClientEnd> end);
  SimStreamClient(SimStreamClient&&) noexcept;
  SimStreamClient& operator=(SimStreamClient&&) noexcept;
  ~SimStreamClient();

  // `done` is called once, with the reply, the error the server answered with (ProtocolError when
  // the reply is another packet), or Unavailable when the connection ends first; inside this call
  // when it has ended before.
  template <Packet Reply, Packet P>
  void request(const P& packet, std::function<void(Result<Reply>)> done) {
    know(PacketTraits<Reply>::descriptor());
    request(Message::of(packet), [done = std::move(done)](const Result<Message>& reply) {
      if (reply) {
        done(reply->template decode<Reply>());
      } else {
        done(fail(reply.error()));
      }
    });
  }
  void request(const Message& message, std::function<void(Result<Message>)> done);
  // A one-way packet.
  template <Packet P>
  void send(const P& packet) {
    send(Message::of(packet));
  }
  void send(const Message& message);

  // What the server pushes. One handler for each packet, and one for all others; the last one set
  // holds.
  template <Packet P>
  void on_push(std::function<void(const P&)> handler) {
    on_push(PacketTraits<P>::descriptor(), [handler = std::move(handler)](const Message& message) {
      // It was held to its schema when it came, so it decodes.
      handler(*message.template decode<P>());
    });
  }
  void on_push(const PacketDescriptor& packet, std::function<void(const Message&)> handler);
  void on_other_push(std::function<void(const Message&)> handler);
  // Each reply and push of the JSON form as it came, before anything else is made of it.
  void on_text(std::function<void(std::string_view)> handler);
  // The connection has ended. Once.
  void on_close(std::function<void(const ClientClose&)> handler);

  bool is_open() const;
  // Empty while the connection lives.
  const std::optional<ClientClose>& close_seen() const;
  std::size_t unanswered_requests() const;
  std::uint64_t pushes_received() const;
  std::uint64_t pings_received() const;
  std::uint64_t pongs_received() const;
  // Bytes sent that wait at a server which has paused reading.
  std::size_t unread_bytes() const;

  // Says good-bye: a close frame, then the end.
  void close(std::uint16_t code = 1000, std::string_view reason = {});

  // Misbehaviour and misfortune.
  void stop_reading();
  void start_reading();
  // Pings are not answered any more.
  void stop_answering();
  // The device loses power: nothing is heard of it any more and nobody is told.
  void vanish();
  // The connection breaks; both ends learn of it.
  void reset();
  // The TCP connection ends without a close frame.
  void hang_up();
  // Any text as one message, any payload as one binary message or ping, any bytes at all. Replies
  // to requests sent in this way come to on_text() alone.
  void send_text(std::string_view text);
  void send_binary(ByteView payload);
  void send_ping(std::string_view payload);
  void send_bytes(Bytes bytes);

 private:
  // So that this packet is understood when it comes.
  void know(const PacketDescriptor& packet);

  std::unique_ptr<StreamClientEnd> end_;
};

}  // namespace spotmesh::testing
