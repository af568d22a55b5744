#include "bots/connection.hpp"

#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "wire/json_by_schema.hpp"

namespace tictactoe {

using spotmesh::ByteView;
using spotmesh::Duration;
using spotmesh::Error;
using spotmesh::Message;
using spotmesh::Result;
namespace wire = spotmesh::wire;

namespace {

using Clock = std::chrono::steady_clock;

Duration left_until(Clock::time_point deadline) {
  return std::max(Duration(0), std::chrono::duration_cast<Duration>(deadline - Clock::now()));
}

constexpr std::size_t longest_message = 1024 * 1024;

}  // namespace

Connection::Connection(spotmesh::net::ClientSocket socket, const wire::PacketCatalog& catalog,
                       spotmesh::Random& random)
    : socket_(std::move(socket)),
      catalog_(&catalog),
      random_(&random),
      decoder_({.role = wire::WebSocketRole::Client, .max_message_bytes = longest_message}) {}

Result<Connection> Connection::open(const spotmesh::net::ClientEndpoint& server,
                                    const wire::PacketCatalog& catalog, spotmesh::Random& random) {
  auto socket = spotmesh::net::ClientSocket::open(server, random, patience);
  if (!socket) return fail(socket.error());
  return Connection(std::move(*socket), catalog, random);
}

Result<Message> Connection::request(const Message& packet) {
  const wire::CatalogPacket* known = catalog_->find(packet.packet_name());
  if (known == nullptr) {
    return fail(Error::not_found(fmt::format("{} is in no schema", packet.packet_name())));
  }
  auto payload = wire::packet_to_json(*known, packet.payload().view());
  if (!payload) return fail(payload.error());
  ++last_seq_.value;
  const std::string text = wire::write_request(last_seq_, packet.packet_name(), *payload);
  const auto sent = send_frame(wire::WebSocketOpcode::Text, spotmesh::as_bytes(text));
  if (!sent) return fail(ended(sent.error()));

  reply_.reset();
  const auto deadline = Clock::now() + patience;
  while (!reply_) {
    if (auto received = receive_some(left_until(deadline)); !received) {
      return fail(received.error());
    }
  }
  return *std::exchange(reply_, std::nullopt);
}

Result<Message> Connection::next_push(Duration timeout) {
  const auto deadline = Clock::now() + timeout;
  while (pushes_.empty()) {
    if (auto received = receive_some(left_until(deadline)); !received) {
      return fail(received.error());
    }
  }
  Message oldest = std::move(pushes_.front());
  pushes_.pop_front();
  return oldest;
}

Result<void> Connection::send_frame(wire::WebSocketOpcode opcode, ByteView payload) {
  const std::uint64_t bits = random_->next_u64();
  wire::MaskKey mask;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    mask[i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  }
  spotmesh::Bytes frame;
  wire::append_frame(frame, opcode, payload, mask);
  return socket_.send(frame, patience);
}

Result<void> Connection::receive_some(Duration timeout) {
  auto bytes = socket_.receive(timeout);
  if (!bytes) return fail(ended(bytes.error()));
  ByteView input(*bytes);
  while (true) {
    const wire::WebSocketEvent event = decoder_.next(input);
    if (event.kind == wire::WebSocketEvent::Kind::NeedMoreBytes) return {};
    if (auto taken = take(event); !taken) return taken;
  }
}

Result<void> Connection::take(const wire::WebSocketEvent& event) {
  using Kind = wire::WebSocketEvent::Kind;
  switch (event.kind) {
    case Kind::Ping:
      return send_frame(wire::WebSocketOpcode::Pong, event.payload);
    case Kind::Close:
    case Kind::Failed:
      closed_as_ = fmt::format("{} {} '{}'", static_cast<int>(event.close.code),
                               wire::to_string(event.close.code), event.close.reason);
      return {};
    case Kind::Text:
      break;
    default:
      return {};
  }
  auto message = wire::parse_server_message(spotmesh::as_text(event.payload));
  if (!message) return fail(message.error());
  if (const auto* push = std::get_if<wire::ServerPush>(&*message)) {
    auto pushed = to_message(push->packet, push->payload);
    if (!pushed) return fail(pushed.error());
    pushes_.push_back(std::move(*pushed));
  } else if (const auto* reply = std::get_if<wire::ServerReply>(&*message)) {
    // A reply that came after its request was given up belongs to nobody.
    if (reply->reply_to == last_seq_) reply_ = to_message(reply->packet, reply->payload);
  } else if (const auto* refusal = std::get_if<wire::ServerErrorReply>(&*message)) {
    if (refusal->reply_to == last_seq_) reply_ = fail(refusal->error);
  }
  return {};
}

Result<Message> Connection::to_message(const std::string& packet,
                                       const nlohmann::json& payload) const {
  const wire::CatalogPacket* known = catalog_->find(packet);
  if (known == nullptr) {
    return fail(Error::protocol_error(fmt::format("the server sent {}, unknown here", packet)));
  }
  auto bytes = wire::json_to_packet(*known, payload);
  if (!bytes) return fail(bytes.error());
  return Message(*known->descriptor, spotmesh::SharedBytes(std::move(*bytes)));
}

Error Connection::ended(Error error) const {
  if (closed_as_.empty()) return error;
  return Error::unavailable("the server closed the connection: " + closed_as_);
}

}  // namespace tictactoe
