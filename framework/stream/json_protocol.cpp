#include "stream/json_protocol.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "wire/json_by_schema.hpp"
#include "wire/stream_json.hpp"
#include "wire/text.hpp"
#include "wire/websocket.hpp"

namespace spotmesh::stream {
namespace {

using wire::CloseCode;
using wire::WebSocketOpcode;

InboundEvent failed(CloseCode code, std::string reason) {
  InboundEvent event;
  event.kind = InboundEvent::Kind::Failed;
  event.close = {code, std::move(reason)};
  return event;
}

InboundEvent refused(wire::RequestSeq seq, Error error) {
  InboundEvent event;
  event.kind = InboundEvent::Kind::Refused;
  event.seq = seq;
  event.error = std::move(error);
  return event;
}

SharedBytes frame(WebSocketOpcode opcode, ByteView payload) {
  Bytes out;
  out.reserve(payload.size() + wire::max_frame_header_bytes);
  wire::append_frame(out, opcode, payload);
  return SharedBytes(std::move(out));
}

SharedBytes text_frame(std::string_view text) {
  return frame(WebSocketOpcode::Text, as_bytes(text));
}

}  // namespace

JsonProtocol::JsonProtocol(const wire::PacketCatalog& catalog, std::size_t max_message_bytes)
    : catalog_(catalog),
      max_message_bytes_(max_message_bytes),
      decoder_({.role = wire::WebSocketRole::Server, .max_message_bytes = max_message_bytes}) {}

InboundEvent JsonProtocol::next(ByteView& input) {
  if (has_failed_) {
    input = {};
    return {};
  }
  wire::WebSocketEvent heard = decoder_.next(input);
  InboundEvent event;
  switch (heard.kind) {
    case wire::WebSocketEvent::Kind::NeedMoreBytes:
      break;
    case wire::WebSocketEvent::Kind::Text:
      event = read_text(as_text(heard.payload));
      break;
    case wire::WebSocketEvent::Kind::Binary:
      event = failed(CloseCode::UnsupportedData,
                     fmt::format("{} has text messages only", wire::json_subprotocol));
      break;
    case wire::WebSocketEvent::Kind::Ping:
      event.kind = InboundEvent::Kind::Ping;
      event.payload = heard.payload;
      break;
    case wire::WebSocketEvent::Kind::Pong:
      event.kind = InboundEvent::Kind::Pong;
      break;
    case wire::WebSocketEvent::Kind::Close:
      event.kind = InboundEvent::Kind::Close;
      event.close = std::move(heard.close);
      break;
    case wire::WebSocketEvent::Kind::Failed:
      event = failed(heard.close.code, std::move(heard.close.reason));
      break;
  }
  has_failed_ = event.kind == InboundEvent::Kind::Failed;
  return event;
}

InboundEvent JsonProtocol::read_text(std::string_view text) const {
  auto packet = wire::parse_client_message(text, {.max_bytes = max_message_bytes_});
  if (!packet) return failed(CloseCode::BadMessage, packet.error().message());
  const wire::CatalogPacket* known = catalog_.find(packet->packet);
  if (known == nullptr) {
    return refused(packet->seq, Error::not_found("this server knows no packet " +
                                                 wire::in_quotes(packet->packet)));
  }
  auto bytes = wire::json_to_packet(*known, packet->payload);
  if (!bytes) {
    if (packet->seq.is_one_way()) return failed(CloseCode::BadMessage, bytes.error().message());
    return refused(packet->seq, bytes.error());
  }
  InboundEvent event;
  event.kind = InboundEvent::Kind::Packet;
  event.seq = packet->seq;
  event.message = Message(*known->descriptor, SharedBytes(std::move(*bytes)));
  return event;
}

Result<std::string> JsonProtocol::payload_of(const Message& message) const {
  const auto known = packet_to_client(catalog_, message);
  if (!known) return fail(known.error());
  return wire::packet_to_json(**known, message.payload().view());
}

Result<SharedBytes> JsonProtocol::encode_push(const Message& message) const {
  auto payload = payload_of(message);
  if (!payload) return fail(payload.error());
  return text_frame(wire::write_packet(message.packet_name(), *payload));
}

Result<SharedBytes> JsonProtocol::encode_reply(wire::RequestSeq seq, const Message& message) const {
  auto payload = payload_of(message);
  if (!payload) return fail(payload.error());
  return text_frame(wire::write_reply(seq, message.packet_name(), *payload));
}

SharedBytes JsonProtocol::encode_error_reply(wire::RequestSeq seq, const Error& error) const {
  return text_frame(wire::write_error_reply(seq, error));
}

SharedBytes JsonProtocol::encode_ping() const { return frame(WebSocketOpcode::Ping, {}); }

SharedBytes JsonProtocol::encode_pong(ByteView payload) const {
  return frame(WebSocketOpcode::Pong, payload);
}

SharedBytes JsonProtocol::encode_close(const wire::WebSocketClose& close) const {
  Bytes out;
  wire::append_close_frame(out, close.code, close.reason);
  return SharedBytes(std::move(out));
}

}  // namespace spotmesh::stream
