#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <spotmesh/client/connection.hpp>
#include <spotmesh/limits.hpp>

#include "net/client_socket.hpp"
#include "net/os_random.hpp"
#include "wire/json_by_schema.hpp"
#include "wire/packet_catalog.hpp"
#include "wire/stream_json.hpp"
#include "wire/websocket_decoder.hpp"

namespace spotmesh::client {

namespace {

using Clock = std::chrono::steady_clock;

// A server's message may be longer than a client's: states, lists.
constexpr std::size_t longest_message = limits::mebibyte;

// What a push that waits costs beside its payload.
constexpr std::size_t push_overhead_bytes = 128;

std::size_t cost_of(const Message& push) { return push.payload().size() + push_overhead_bytes; }

Duration left_until(Clock::time_point deadline) {
  return std::max(Duration(0), std::chrono::duration_cast<Duration>(deadline - Clock::now()));
}

}  // namespace

class Connection::Parts {
 public:
  explicit Parts(const ConnectionOptions& options)
      : timeout(options.timeout), most_pushes_bytes_(options.pushes_bytes) {
    catalog_.add(options.packets);
  }

  Result<void> open(const ConnectionOptions& options);
  Result<Message> request(const Message& packet);
  Result<void> send(const Message& packet, wire::RequestSeq seq);
  Result<Message> next_push(Duration timeout);
  void cut() { socket_->close(); }

  const Duration timeout;

 private:
  Result<void> send_frame(wire::WebSocketOpcode opcode, ByteView payload);
  // Waits for bytes and takes every message in them.
  Result<void> receive_some(Duration timeout);
  Result<void> take(const wire::WebSocketEvent& event);
  Result<void> take_message(std::string_view text);
  Result<void> keep(Message push);
  Result<Message> to_message(const std::string& packet, const nlohmann::json& payload) const;
  // The error, or how the server closed the connection if it did.
  Error ended(Error error) const;

  wire::PacketCatalog catalog_;
  net::OsRandom random_;
  std::optional<net::ClientSocket> socket_;
  wire::WebSocketDecoder decoder_{
      {.role = wire::WebSocketRole::Client, .max_message_bytes = longest_message}};
  wire::RequestSeq last_seq_;
  std::optional<Result<Message>> reply_;
  std::deque<Message> pushes_;
  std::size_t pushes_bytes_ = 0;  // what pushes_ costs
  const std::size_t most_pushes_bytes_;
  std::string closed_as_;
};

Result<void> Connection::Parts::open(const ConnectionOptions& options) {
  auto socket = net::ClientSocket::open({.host = options.host,
                                         .port = options.port,
                                         .path = options.path,
                                         .subprotocol = std::string(wire::json_subprotocol)},
                                        random_, timeout);
  if (!socket) return fail(socket.error());
  socket_ = std::move(*socket);
  return {};
}

Result<Message> Connection::Parts::request(const Message& packet) {
  ++last_seq_.value;
  reply_.reset();
  if (auto sent = send(packet, last_seq_); !sent) return fail(sent.error());
  const auto deadline = Clock::now() + timeout;
  while (!reply_) {
    if (auto received = receive_some(left_until(deadline)); !received) {
      return fail(received.error());
    }
  }
  return *std::exchange(reply_, std::nullopt);
}

Result<void> Connection::Parts::send(const Message& packet, wire::RequestSeq seq) {
  const wire::CatalogPacket* known = catalog_.find(packet.packet_name());
  if (known == nullptr) {
    return fail(Error::not_found(
        fmt::format("'{}' is none of this connection's packets", packet.packet_name())));
  }
  auto payload = wire::packet_to_json(*known, packet.payload().view());
  if (!payload) return fail(payload.error());
  const std::string text = seq.is_one_way()
                               ? wire::write_packet(packet.packet_name(), *payload)
                               : wire::write_request(seq, packet.packet_name(), *payload);
  if (auto sent = send_frame(wire::WebSocketOpcode::Text, as_bytes(text)); !sent) {
    return fail(ended(sent.error()));
  }
  return {};
}

Result<Message> Connection::Parts::next_push(Duration timeout) {
  const auto deadline = Clock::now() + timeout;
  while (pushes_.empty()) {
    if (auto received = receive_some(left_until(deadline)); !received) {
      return fail(received.error());
    }
  }
  Message oldest = std::move(pushes_.front());
  pushes_.pop_front();
  pushes_bytes_ -= cost_of(oldest);
  return oldest;
}

Result<void> Connection::Parts::send_frame(wire::WebSocketOpcode opcode, ByteView payload) {
  const std::uint64_t bits = random_.next_u64();
  wire::MaskKey mask;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    mask[i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  }
  Bytes frame;
  wire::append_frame(frame, opcode, payload, mask);
  return socket_->send(frame, timeout);
}

Result<void> Connection::Parts::receive_some(Duration timeout) {
  auto bytes = socket_->receive(timeout);
  if (!bytes) return fail(ended(bytes.error()));
  ByteView input(*bytes);
  while (true) {
    const wire::WebSocketEvent event = decoder_.next(input);
    if (event.kind == wire::WebSocketEvent::Kind::NeedMoreBytes) return {};
    if (auto taken = take(event); !taken) return taken;
  }
}

Result<void> Connection::Parts::take(const wire::WebSocketEvent& event) {
  using Kind = wire::WebSocketEvent::Kind;
  switch (event.kind) {
    case Kind::Text:
      return take_message(as_text(event.payload));
    case Kind::Ping:
      return send_frame(wire::WebSocketOpcode::Pong, event.payload);
    case Kind::Failed:
      cut();
      return fail(Error::protocol_error("the server broke the protocol: " + event.close.reason));
    case Kind::Close:
      closed_as_ = fmt::format("the server closed the connection with {} {}: {}",
                               static_cast<int>(event.close.code),
                               wire::to_string(event.close.code), event.close.reason);
      return {};
    default:
      return {};
  }
}

Result<void> Connection::Parts::take_message(std::string_view text) {
  auto message = wire::parse_server_message(text);
  if (!message) return fail(message.error());
  if (const auto* push = std::get_if<wire::ServerPush>(&*message)) {
    auto pushed = to_message(push->packet, push->payload);
    if (!pushed) return fail(pushed.error());
    return keep(std::move(*pushed));
  }
  if (const auto* reply = std::get_if<wire::ServerReply>(&*message)) {
    // A reply that came after its request was given up belongs to nobody.
    if (reply->reply_to == last_seq_) reply_ = to_message(reply->packet, reply->payload);
  } else if (const auto* refusal = std::get_if<wire::ServerErrorReply>(&*message)) {
    if (refusal->reply_to == last_seq_) reply_ = fail(refusal->error);
  }
  return {};
}

Result<void> Connection::Parts::keep(Message push) {
  const std::size_t bytes = pushes_bytes_ + cost_of(push);
  if (bytes > most_pushes_bytes_) {
    closed_as_ = fmt::format(
        "this end closed the connection: with '{}', {} pushes of {} bytes wait for next_push(); {} "
        "bytes may",
        push.packet_name(), pushes_.size() + 1, bytes, most_pushes_bytes_);
    cut();
    return fail(Error::capacity_exceeded(closed_as_));
  }
  pushes_bytes_ = bytes;
  pushes_.push_back(std::move(push));
  return {};
}

Result<Message> Connection::Parts::to_message(const std::string& packet,
                                              const nlohmann::json& payload) const {
  const wire::CatalogPacket* known = catalog_.find(packet);
  if (known == nullptr) {
    return fail(Error::protocol_error(
        fmt::format("the server sent '{}', none of this connection's packets", packet)));
  }
  auto bytes = wire::json_to_packet(*known, payload);
  if (!bytes) return fail(bytes.error());
  return Message(*known->descriptor, SharedBytes(std::move(*bytes)));
}

Error Connection::Parts::ended(Error error) const {
  return closed_as_.empty() ? error : Error::unavailable(closed_as_);
}

Result<Connection> Connection::open(const ConnectionOptions& options) {
  auto parts = std::make_unique<Parts>(options);
  if (auto opened = parts->open(options); !opened) return fail(opened.error());
  return Connection(std::move(parts));
}

Connection::Connection(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Result<Message> Connection::request(const Message& packet) { return parts_->request(packet); }
Result<void> Connection::send(const Message& packet) {
  return parts_->send(packet, wire::RequestSeq{});
}
Result<Message> Connection::next_push(Duration timeout) { return parts_->next_push(timeout); }
void Connection::cut() { parts_->cut(); }

}  // namespace spotmesh::client
