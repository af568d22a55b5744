#include "testing/stream_client_end.hpp"

#include <bit>
#include <stdexcept>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "wire/json_by_schema.hpp"
#include "wire/websocket.hpp"

namespace spotmesh::testing {
namespace {

// JSON is longer than the packets it stands for.
constexpr std::size_t longest_message_bytes = 8 * limits::message_bytes;
constexpr std::uint16_t no_close_frame = 1006;
constexpr std::uint16_t broken_protocol = 1002;

}  // namespace

StreamClientEnd::StreamClientEnd(Random& random, std::shared_ptr<wire::PacketCatalog> packets)
    : random_(random),
      packets_(std::move(packets)),
      decoder_({.role = wire::WebSocketRole::Client, .max_message_bytes = longest_message_bytes}) {}

StreamClientEnd::~StreamClientEnd() {
  if (connection_ == nullptr) return;
  connection_->forget_peer();
  connection_->reset();
}

Result<void> StreamClientEnd::connect(SimClientLinks& links, std::string_view remote_address) {
  auto connection = links.connect(*this, wire::json_subprotocol, remote_address);
  if (!connection) return fail(connection.error());
  connection_ = *std::move(connection);
  return {};
}

void StreamClientEnd::on_bytes(ByteView bytes) {
  while (is_open() && take(decoder_.next(bytes))) {
  }
}

bool StreamClientEnd::take(const wire::WebSocketEvent& event) {
  using Kind = wire::WebSocketEvent::Kind;
  switch (event.kind) {
    case Kind::NeedMoreBytes:
      return false;
    case Kind::Text:
      take_text(as_text(event.payload));
      return true;
    case Kind::Binary:
      give_up("a binary message");
      return false;
    case Kind::Ping:
      ++pings_received;
      if (answers_pings) send_frame(wire::WebSocketOpcode::Pong, event.payload);
      return true;
    case Kind::Pong:
      ++pongs_received;
      return true;
    case Kind::Close:
      said_ = {static_cast<std::uint16_t>(event.close.code), event.close.reason};
      return false;
    case Kind::Failed:
      give_up(event.close.reason);
      return false;
  }
  return false;
}

void StreamClientEnd::on_closed(std::string_view reason) {
  end(said_.value_or(ClientClose{no_close_frame, std::string(reason)}));
}

void StreamClientEnd::take_text(std::string_view text) {
  if (on_text) on_text(text);
  auto message = wire::parse_server_message(text, {.max_bytes = longest_message_bytes});
  if (!message) return give_up(message.error().message());
  if (const auto* push = std::get_if<wire::ServerPush>(&*message)) {
    take_push(*push);
  } else if (const auto* reply = std::get_if<wire::ServerReply>(&*message)) {
    take_reply(reply->reply_to, message_of(reply->packet, reply->payload));
  } else {
    const auto& error = std::get<wire::ServerErrorReply>(*message);
    take_reply(error.reply_to, fail(error.error));
  }
}

void StreamClientEnd::take_push(const wire::ServerPush& push) {
  ++pushes_received;
  const auto handler = push_handlers.find(push.packet);
  if (handler == push_handlers.end() && !on_other_push) return;
  const auto message = message_of(push.packet, push.payload);
  if (!message) return give_up(message.error().message());
  (handler == push_handlers.end() ? on_other_push : handler->second)(*message);
}

void StreamClientEnd::take_reply(wire::RequestSeq seq, Result<Message> reply) {
  auto request = requests_.extract(seq.value);
  if (!request.empty()) return request.mapped()(std::move(reply));
  if (!has_sent_raw) give_up(fmt::format("a reply to request {}, which has none due", seq.value));
}

Result<Message> StreamClientEnd::message_of(const std::string& packet,
                                            const nlohmann::json& payload) const {
  const wire::CatalogPacket* known = packets_->find(packet);
  if (known == nullptr) {
    return fail(Error::protocol_error(fmt::format("this client knows no packet '{}'", packet)));
  }
  auto bytes = wire::json_to_packet(*known, payload);
  if (!bytes) return fail(bytes.error());
  return Message(*known->descriptor, SharedBytes(std::move(*bytes)));
}

std::string StreamClientEnd::payload_of(const Message& message) {
  if (message.is_empty()) throw std::logic_error("a client cannot send an empty message");
  know(*message.descriptor());
  auto payload =
      wire::packet_to_json(*packets_->find(message.descriptor()->id), message.payload().view());
  if (!payload) throw std::logic_error(payload.error().message());
  return *std::move(payload);
}

void StreamClientEnd::know(const PacketDescriptor& packet) {
  const PacketDescriptor* added[] = {&packet};
  packets_->add(added);
}

void StreamClientEnd::request(const Message& message, std::function<void(Result<Message>)> done) {
  const std::string payload = payload_of(message);
  if (!is_open()) return done(fail(Error::unavailable("the connection has ended before")));
  const std::uint32_t seq = ++last_seq_;
  requests_.emplace(seq, std::move(done));
  send_frame(wire::WebSocketOpcode::Text,
             as_bytes(wire::write_request({seq}, message.packet_name(), payload)));
}

void StreamClientEnd::send(const Message& message) {
  const std::string payload = payload_of(message);
  send_frame(wire::WebSocketOpcode::Text,
             as_bytes(wire::write_packet(message.packet_name(), payload)));
}

void StreamClientEnd::send_frame(wire::WebSocketOpcode opcode, ByteView payload) {
  Bytes frame;
  wire::append_frame(frame, opcode, payload, next_mask());
  send_bytes(std::move(frame));
}

void StreamClientEnd::send_bytes(Bytes bytes) {
  if (is_open()) connection_->send(std::move(bytes));
}

void StreamClientEnd::close(std::uint16_t code, std::string_view reason) {
  Bytes frame;
  wire::append_close_frame(frame, wire::CloseCode{code}, reason, next_mask());
  send_bytes(std::move(frame));
}

wire::MaskKey StreamClientEnd::next_mask() {
  return std::bit_cast<wire::MaskKey>(static_cast<std::uint32_t>(random_.next_u64()));
}

void StreamClientEnd::give_up(const std::string& fault) {
  connection_->forget_peer();
  connection_->reset();
  end({broken_protocol, "the server broke the protocol: " + fault});
}

void StreamClientEnd::end(ClientClose how) {
  if (!is_open()) return;
  close_seen = std::move(how);
  const Error error = Error::unavailable(fmt::format(
      "the connection ended with {} ({}); whether the request was carried out is unknown",
      close_seen->code, close_seen->reason));
  for (auto& [seq, done] : std::exchange(requests_, {})) done(fail(error));
  if (on_close) on_close(*close_seen);
}

Result<SimStreamClient> connect_stream_client(SimClientLinks& links, Random& random,
                                              std::shared_ptr<wire::PacketCatalog> packets,
                                              std::string_view remote_address) {
  auto end = std::make_unique<StreamClientEnd>(random, std::move(packets));
  if (auto connected = end->connect(links, remote_address); !connected) {
    return fail(connected.error());
  }
  return SimStreamClient(std::move(end));
}

}  // namespace spotmesh::testing
