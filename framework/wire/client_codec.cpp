#include "wire/client_codec.hpp"

#include <bit>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "wire/json_by_schema.hpp"
#include "wire/text.hpp"

namespace spotmesh::wire {

namespace {

using Kind = ClientEvent::Kind;

ClientEvent event_of(Kind kind, ByteView bytes = {}) {
  ClientEvent event;
  event.kind = kind;
  event.bytes = bytes;
  return event;
}

ClientEvent failed(WebSocketClose close) {
  ClientEvent event = event_of(Kind::Failed);
  event.close = std::move(close);
  return event;
}

ClientEvent closed(WebSocketClose close) {
  ClientEvent event = event_of(Kind::Close);
  event.close = std::move(close);
  return event;
}

ClientEvent push(ByteView bytes, Result<Message> message) {
  ClientEvent event = event_of(Kind::Push, bytes);
  event.message = std::move(message);
  return event;
}

ClientEvent reply(ByteView bytes, RequestSeq seq, Result<Message> message) {
  ClientEvent event = event_of(Kind::Reply, bytes);
  event.seq = seq;
  event.message = std::move(message);
  return event;
}

std::variant<WebSocketDecoder, LengthPrefixDecoder> decoder_of(StreamForm form, std::size_t most) {
  if (form == StreamForm::Tcp) {
    return LengthPrefixDecoder({.min_frame_bytes = binary_header_bytes, .max_frame_bytes = most});
  }
  return WebSocketDecoder({.role = WebSocketRole::Client, .max_message_bytes = most});
}

}  // namespace

ClientCodec::ClientCodec(StreamForm form, const PacketCatalog& catalog, Random& random,
                         std::size_t max_message_bytes)
    : form_(form),
      catalog_(catalog),
      random_(random),
      max_message_bytes_(max_message_bytes),
      decoder_(decoder_of(form, max_message_bytes)) {}

ClientEvent ClientCodec::next(ByteView& input) {
  if (has_failed_) {
    input = {};
    return {};
  }
  ClientEvent event = form_ == StreamForm::Tcp ? next_of_tcp(input) : next_of_web_socket(input);
  has_failed_ = event.kind == Kind::Failed;
  return event;
}

ClientEvent ClientCodec::next_of_web_socket(ByteView& input) {
  WebSocketEvent heard = std::get<WebSocketDecoder>(decoder_).next(input);
  switch (heard.kind) {
    case WebSocketEvent::Kind::NeedMoreBytes:
      return {};
    case WebSocketEvent::Kind::Text:
      if (form_ == StreamForm::Json) return read_text(as_text(heard.payload));
      return failed({CloseCode::UnsupportedData, "spotmesh.v1 has binary messages only"});
    case WebSocketEvent::Kind::Binary:
      if (form_ == StreamForm::Binary) return read_frame(heard.payload);
      return failed({CloseCode::UnsupportedData, "spotmesh.v1.json has text messages only"});
    case WebSocketEvent::Kind::Ping:
      return event_of(Kind::Ping, heard.payload);
    case WebSocketEvent::Kind::Pong:
      return event_of(Kind::Pong, heard.payload);
    case WebSocketEvent::Kind::Close:
      return closed(std::move(heard.close));
    case WebSocketEvent::Kind::Failed:
      return failed(std::move(heard.close));
  }
  return {};
}

ClientEvent ClientCodec::next_of_tcp(ByteView& input) {
  LengthPrefixDecoder::Event heard = std::get<LengthPrefixDecoder>(decoder_).next(input);
  switch (heard.kind) {
    case LengthPrefixDecoder::Event::Kind::NeedMoreBytes:
      return {};
    case LengthPrefixDecoder::Event::Kind::Frame:
      return read_frame(heard.frame);
    case LengthPrefixDecoder::Event::Kind::Failed:
      return failed(std::move(heard.close));
  }
  return {};
}

ClientEvent ClientCodec::read_text(std::string_view text) const {
  auto message = parse_server_message(text, {.max_bytes = max_message_bytes_});
  if (!message) return failed({CloseCode::BadMessage, message.error().message()});
  const ByteView bytes = as_bytes(text);
  if (const auto* pushed = std::get_if<ServerPush>(&*message)) {
    return push(bytes, message_of(pushed->packet, pushed->payload));
  }
  if (const auto* replied = std::get_if<ServerReply>(&*message)) {
    return reply(bytes, replied->reply_to, message_of(replied->packet, replied->payload));
  }
  auto& refusal = std::get<ServerErrorReply>(*message);
  return reply(bytes, refusal.reply_to, fail(std::move(refusal.error)));
}

ClientEvent ClientCodec::read_frame(ByteView bytes) {
  const auto carrier = form_ == StreamForm::Tcp ? BinaryCarrier::Tcp : BinaryCarrier::WebSocket;
  const auto frame = parse_binary_frame(bytes, BinarySender::Server, carrier);
  if (!frame) return failed({CloseCode::BadMessage, frame.error().message()});
  switch (frame->kind) {
    case BinaryKind::Welcome:
      return read_welcome(frame->body);
    case BinaryKind::Ping:
      return event_of(Kind::Ping, frame->body);
    case BinaryKind::Pong:
      return event_of(Kind::Pong, frame->body);
    case BinaryKind::Close:
      return closed(close_of(*frame));
    default:
      break;
  }
  if (!is_welcome_) return failed({CloseCode::BadMessage, "Welcome must come first"});
  if (frame->kind == BinaryKind::ErrorReply)
    return reply(bytes, frame->seq, fail(error_of(*frame)));
  const CatalogPacket* known = catalog_.find(frame->packet);
  auto message = known != nullptr
                     ? message_of(known, frame->body)
                     : fail(Error::not_found(
                           fmt::format("this client knows no packet {:08x}", frame->packet.value)));
  if (frame->kind == BinaryKind::Push) return push(bytes, std::move(message));
  return reply(bytes, frame->seq, std::move(message));
}

ClientEvent ClientCodec::read_welcome(ByteView body) {
  if (is_welcome_) return failed({CloseCode::BadMessage, "Welcome is said once"});
  auto welcome = read_stream_welcome(body);
  if (!welcome) return failed({CloseCode::BadMessage, welcome.error().message()});
  if (welcome->version != stream_protocol_version) {
    return failed(
        {CloseCode::Incompatible, fmt::format("version {} of the protocol is spoken here, not {}",
                                              stream_protocol_version, welcome->version)});
  }
  is_welcome_ = true;
  ClientEvent event = event_of(Kind::Welcome);
  event.welcome = *std::move(welcome);
  return event;
}

Result<Message> ClientCodec::message_of(const CatalogPacket* known, ByteView body) const {
  // A copy of its own, which lies where every field of a table may be read.
  SharedBytes payload = SharedBytes::copy_of(body);
  if (!known->descriptor->verify(payload.view())) {
    return fail(Error::protocol_error(
        fmt::format("{}: the bytes are no such packet", known->descriptor->name)));
  }
  return Message(*known->descriptor, std::move(payload));
}

Result<Message> ClientCodec::message_of(const std::string& packet,
                                        const nlohmann::json& payload) const {
  const CatalogPacket* known = catalog_.find(packet);
  if (known == nullptr) {
    return fail(Error::not_found("this client knows no packet " + in_quotes(packet)));
  }
  auto bytes = json_to_packet(*known, payload);
  if (!bytes) return fail(bytes.error());
  return Message(*known->descriptor, SharedBytes(*bytes));
}

void ClientCodec::append_hello(Bytes& out, const StreamHello& hello) {
  const Bytes body = write_stream_hello(hello);
  append_frame_of(out, {.kind = BinaryKind::Hello, .body = body});
}

Result<void> ClientCodec::append_packet(Bytes& out, RequestSeq seq, const Message& message) {
  const CatalogPacket* known = catalog_.find(message.packet_name());
  if (known == nullptr) {
    return fail(Error::not_found(
        fmt::format("{} is none of this connection's packets", in_quotes(message.packet_name()))));
  }
  const ByteView body = message.payload().view();
  if (form_ == StreamForm::Json) return append_json(out, seq, *known, body);
  append_frame_of(out, {.kind = seq.is_one_way() ? BinaryKind::OneWay : BinaryKind::Request,
                        .packet = known->descriptor->id,
                        .seq = seq,
                        .body = body});
  return {};
}

Result<void> ClientCodec::append_json(Bytes& out, RequestSeq seq, const CatalogPacket& packet,
                                      ByteView body) {
  auto payload = packet_to_json(packet, body);
  if (!payload) return fail(payload.error());
  const std::string_view name = packet.descriptor->name;
  append_message(out, WebSocketOpcode::Text,
                 as_bytes(seq.is_one_way() ? write_packet(name, *payload)
                                           : write_request(seq, name, *payload)));
  return {};
}

void ClientCodec::append_frame_of(Bytes& out, const BinaryFrame& frame) {
  if (form_ == StreamForm::Tcp) {
    append_length_prefix(out, static_cast<std::uint32_t>(binary_header_bytes + frame.body.size()));
    return append_binary_frame(out, frame);
  }
  frame_.clear();
  append_binary_frame(frame_, frame);
  append_message(out, WebSocketOpcode::Binary, frame_);
}

void ClientCodec::append_message(Bytes& out, WebSocketOpcode opcode, ByteView payload) {
  append_frame(out, opcode, payload, next_mask());
}

void ClientCodec::append_ping(Bytes& out, ByteView payload) {
  if (form_ == StreamForm::Tcp) {
    return append_frame_of(out, {.kind = BinaryKind::Ping, .body = payload});
  }
  append_message(out, WebSocketOpcode::Ping, payload);
}

void ClientCodec::append_pong(Bytes& out, ByteView payload) {
  if (form_ == StreamForm::Tcp) {
    return append_frame_of(out, {.kind = BinaryKind::Pong, .body = payload});
  }
  append_message(out, WebSocketOpcode::Pong, payload);
}

void ClientCodec::append_close(Bytes& out, const WebSocketClose& close) {
  if (form_ != StreamForm::Tcp) {
    return append_close_frame(out, close.code, close.reason, next_mask());
  }
  const Bytes frame = write_binary_close(close);
  append_length_prefix(out, static_cast<std::uint32_t>(frame.size()));
  out.insert(out.end(), frame.begin(), frame.end());
}

MaskKey ClientCodec::next_mask() {
  return std::bit_cast<MaskKey>(static_cast<std::uint32_t>(random_.next_u64()));
}

}  // namespace spotmesh::wire
