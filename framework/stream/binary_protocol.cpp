#include "stream/binary_protocol.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "wire/websocket.hpp"

namespace spotmesh::stream {

using wire::BinaryCarrier;
using wire::BinaryFrame;
using wire::BinaryKind;
using wire::CloseCode;
using wire::WebSocketOpcode;

namespace {

InboundEvent refused(wire::RequestSeq seq, Error error) {
  InboundEvent event;
  event.kind = InboundEvent::Kind::Refused;
  event.seq = seq;
  event.error = std::move(error);
  return event;
}

InboundEvent event_of(InboundEvent::Kind kind) {
  InboundEvent event;
  event.kind = kind;
  return event;
}

InboundEvent ping(ByteView payload) {
  InboundEvent event = event_of(InboundEvent::Kind::Ping);
  event.payload = payload;
  return event;
}

InboundEvent closed(wire::WebSocketClose close) {
  InboundEvent event = event_of(InboundEvent::Kind::Close);
  event.close = std::move(close);
  return event;
}

SharedBytes control_frame(WebSocketOpcode opcode, ByteView payload) {
  Bytes out;
  wire::append_frame(out, opcode, payload);
  return SharedBytes(out);
}

}  // namespace

InboundEvent BinaryProtocol::failed(CloseCode code, std::string reason) {
  has_failed_ = true;
  InboundEvent event = event_of(InboundEvent::Kind::Failed);
  event.close = {code, std::move(reason)};
  return event;
}

InboundEvent BinaryProtocol::read(ByteView bytes) {
  const auto frame = wire::parse_binary_frame(bytes, wire::BinarySender::Client, carrier_);
  if (!frame) return failed(CloseCode::BadMessage, frame.error().message());
  switch (frame->kind) {
    case BinaryKind::Hello:
      return read_hello(frame->body);
    case BinaryKind::Ping:
      return ping(frame->body);
    case BinaryKind::Pong:
      return event_of(InboundEvent::Kind::Pong);
    case BinaryKind::Close:
      return closed(wire::close_of(*frame));
    default:
      return read_packet(*frame);
  }
}

InboundEvent BinaryProtocol::read_hello(ByteView body) {
  if (has_said_hello_) return failed(CloseCode::BadMessage, "Hello is said once");
  const auto hello = wire::read_stream_hello(body);
  if (!hello) return failed(CloseCode::BadMessage, hello.error().message());
  if (hello->version != wire::stream_protocol_version) {
    return failed(CloseCode::Incompatible,
                  fmt::format("version {} of the protocol is spoken here, not {}",
                              wire::stream_protocol_version, hello->version));
  }
  if (hello->message_bytes != 0 && hello->message_bytes < wire::min_client_message_bytes) {
    return failed(CloseCode::BadMessage,
                  fmt::format("message_bytes of Hello must be 0 or at least {}, it is {}",
                              wire::min_client_message_bytes, hello->message_bytes));
  }
  if (auto fits = catalog_.prints().check(hello->types); !fits) {
    return failed(CloseCode::Incompatible, fits.error().message());
  }
  has_said_hello_ = true;
  client_message_bytes_ = hello->message_bytes;
  return event_of(InboundEvent::Kind::Hello);
}

InboundEvent BinaryProtocol::read_packet(const BinaryFrame& frame) {
  if (!has_said_hello_) return failed(CloseCode::BadMessage, "Hello must come first");
  const wire::CatalogPacket* known = catalog_.find(frame.packet);
  if (known == nullptr) {
    return refused(frame.seq, Error::not_found(fmt::format("this server knows no packet {:08x}",
                                                           frame.packet.value)));
  }
  // A copy of its own, which lies where every field of a table may be read.
  SharedBytes payload = SharedBytes::copy_of(frame.body);
  if (!known->descriptor->verify(payload.view())) {
    Error error = Error::protocol_error(
        fmt::format("{}: the bytes are no such packet", known->descriptor->name));
    if (frame.seq.is_one_way()) return failed(CloseCode::BadMessage, error.message());
    return refused(frame.seq, std::move(error));
  }
  InboundEvent event = event_of(InboundEvent::Kind::Packet);
  event.seq = frame.seq;
  event.message = Message::verified(*known->descriptor, std::move(payload));
  return event;
}

SharedBytes BinaryProtocol::carried(const BinaryFrame& frame) const {
  const auto own = wire::binary_header(frame);
  std::array<std::byte, wire::max_frame_header_bytes + wire::binary_header_bytes> head;
  const std::size_t carrier_bytes = write_carrier_header(
      std::span(head).first<wire::max_frame_header_bytes>(), own.size() + frame.body.size());
  std::copy(own.begin(), own.end(), head.begin() + carrier_bytes);
  return SharedBytes::joined(ByteView(head).first(carrier_bytes + own.size()), frame.body);
}

SharedBytes BinaryProtocol::carried(ByteView frame) const {
  std::array<std::byte, wire::max_frame_header_bytes> head;
  const std::size_t carrier_bytes = write_carrier_header(head, frame.size());
  return SharedBytes::joined(ByteView(head).first(carrier_bytes), frame);
}

Result<SharedBytes> BinaryProtocol::encode_packet(BinaryKind kind, wire::RequestSeq seq,
                                                  const Message& message) const {
  const auto known = packet_to_client(catalog_, message);
  if (!known) return fail(known.error());
  return carried({.kind = kind,
                  .packet = (*known)->descriptor->id,
                  .seq = seq,
                  .body = message.payload().view()});
}

Result<SharedBytes> BinaryProtocol::encode_push(const Message& message) const {
  return encode_packet(BinaryKind::Push, {}, message);
}

Result<SharedBytes> BinaryProtocol::encode_reply(wire::RequestSeq seq,
                                                 const Message& message) const {
  return encode_packet(BinaryKind::Reply, seq, message);
}

Result<void> BinaryProtocol::check_fits(const SharedBytes& frame) const {
  const std::size_t bytes = frame.size() - carrier_header_bytes(frame.size());
  if (client_message_bytes_ == 0 || bytes <= client_message_bytes_) return {};
  return fail(Error::capacity_exceeded(
      fmt::format("a message of {} bytes, of which the client takes no more than {}", bytes,
                  client_message_bytes_)));
}

SharedBytes BinaryProtocol::encode_error_reply(wire::RequestSeq seq, const Error& error) const {
  return carried(wire::write_binary_error_reply(seq, error));
}

SharedBytes BinaryProtocol::encode_welcome(const wire::StreamWelcome& welcome) const {
  const Bytes body = wire::write_stream_welcome(welcome);
  return carried({.kind = BinaryKind::Welcome, .body = body});
}

WebSocketBinaryProtocol::WebSocketBinaryProtocol(const wire::PacketCatalog& catalog,
                                                 std::size_t max_message_bytes)
    : BinaryProtocol(catalog, BinaryCarrier::WebSocket),
      decoder_({.role = wire::WebSocketRole::Server, .max_message_bytes = max_message_bytes}) {}

InboundEvent WebSocketBinaryProtocol::next(ByteView& input) {
  if (has_failed()) {
    input = {};
    return {};
  }
  wire::WebSocketEvent heard = decoder_.next(input);
  switch (heard.kind) {
    case wire::WebSocketEvent::Kind::NeedMoreBytes:
      return {};
    case wire::WebSocketEvent::Kind::Text:
      return failed(CloseCode::UnsupportedData,
                    fmt::format("{} has binary messages only", wire::binary_subprotocol));
    case wire::WebSocketEvent::Kind::Binary:
      return read(heard.payload);
    case wire::WebSocketEvent::Kind::Ping:
      return ping(heard.payload);
    case wire::WebSocketEvent::Kind::Pong:
      return event_of(InboundEvent::Kind::Pong);
    case wire::WebSocketEvent::Kind::Close:
      return closed(std::move(heard.close));
    case wire::WebSocketEvent::Kind::Failed:
      return failed(heard.close.code, std::move(heard.close.reason));
  }
  return {};
}

std::size_t WebSocketBinaryProtocol::write_carrier_header(CarrierHeader out,
                                                          std::size_t bytes) const {
  return wire::write_frame_header(out, WebSocketOpcode::Binary, bytes);
}

// A server's frames are not masked: two bytes, and the length where it does not fit in there.
std::size_t WebSocketBinaryProtocol::carrier_header_bytes(std::size_t sent_bytes) const {
  if (sent_bytes < 2 + 126) return 2;
  return sent_bytes <= 4 + 0xffff ? 4 : 10;
}

SharedBytes WebSocketBinaryProtocol::encode_ping() const {
  return control_frame(WebSocketOpcode::Ping, {});
}

SharedBytes WebSocketBinaryProtocol::encode_pong(ByteView payload) const {
  return control_frame(WebSocketOpcode::Pong, payload);
}

SharedBytes WebSocketBinaryProtocol::encode_close(const wire::WebSocketClose& close) const {
  Bytes out;
  wire::append_close_frame(out, close.code, close.reason);
  return SharedBytes(out);
}

TcpProtocol::TcpProtocol(const wire::PacketCatalog& catalog, std::size_t max_message_bytes)
    : BinaryProtocol(catalog, BinaryCarrier::Tcp),
      decoder_(
          {.min_frame_bytes = wire::binary_header_bytes, .max_frame_bytes = max_message_bytes}) {}

InboundEvent TcpProtocol::next(ByteView& input) {
  if (has_failed()) {
    input = {};
    return {};
  }
  auto heard = decoder_.next(input);
  switch (heard.kind) {
    case wire::LengthPrefixDecoder::Event::Kind::NeedMoreBytes:
      return {};
    case wire::LengthPrefixDecoder::Event::Kind::Frame:
      return read(heard.frame);
    case wire::LengthPrefixDecoder::Event::Kind::Failed:
      return failed(heard.close.code, std::move(heard.close.reason));
  }
  return {};
}

std::size_t TcpProtocol::write_carrier_header(CarrierHeader out, std::size_t bytes) const {
  const auto prefix = wire::length_prefix(static_cast<std::uint32_t>(bytes));
  std::copy(prefix.begin(), prefix.end(), out.begin());
  return prefix.size();
}

std::size_t TcpProtocol::carrier_header_bytes(std::size_t) const {
  return wire::length_prefix_bytes;
}

SharedBytes TcpProtocol::encode_ping() const { return carried({.kind = BinaryKind::Ping}); }

SharedBytes TcpProtocol::encode_pong(ByteView payload) const {
  return carried({.kind = BinaryKind::Pong, .body = payload});
}

SharedBytes TcpProtocol::encode_close(const wire::WebSocketClose& close) const {
  return carried(wire::write_binary_close(close));
}

}  // namespace spotmesh::stream
