// A client of STREAM's binary form, in messages of a WebSocket or over TCP.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/message.hpp>

#include "gateway_fixture.hpp"
#include "wire/length_prefix.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_handshake.hpp"
#include "wire/websocket.hpp"
#include "wire/websocket_decoder.hpp"

namespace spotmesh::stream {

using wire::BinaryCarrier;
using wire::BinaryFrame;
using wire::BinaryKind;

class BinaryEnd final : public spotmesh::testing::SimPeer {
 public:
  struct Heard {
    BinaryKind kind{};
    std::uint16_t code = 0;
    PacketId packet;
    std::uint32_t seq = 0;
    Bytes body;
    std::string text() const { return std::string(as_text(body)); }
    template <Packet P>
    P as() const {
      REQUIRE(packet == PacketTraits<P>::descriptor().id);
      auto decoded = PacketTraits<P>::decode(SharedBytes(body).view());
      REQUIRE(decoded);
      return *std::move(decoded);
    }
  };

  BinaryEnd(GatewayFixture& gateway, BinaryCarrier carrier, std::string_view name = "client")
      : carrier_(carrier),
        web_socket_(
            {.role = wire::WebSocketRole::Client, .max_message_bytes = 8 * limits::mebibyte}),
        tcp_({.max_frame_bytes = 8 * limits::mebibyte}) {
    auto connection = carrier == BinaryCarrier::Tcp
                          ? gateway.links.connect_tcp(*this, name)
                          : gateway.links.connect(*this, wire::binary_subprotocol, name);
    REQUIRE(connection);
    connection_ = *std::move(connection);
  }
  ~BinaryEnd() override {
    connection_->forget_peer();
    connection_->reset();
  }

  void on_bytes(ByteView bytes) override {
    carrier_ == BinaryCarrier::Tcp ? take_tcp(bytes) : take_web_socket(bytes);
  }
  void on_closed(std::string_view) override { is_open = false; }

  void say(const BinaryFrame& frame) {
    Bytes bytes;
    wire::append_binary_frame(bytes, frame);
    say_bytes(bytes);
  }
  // As one frame, whatever it is.
  void say_bytes(ByteView frame) {
    Bytes out;
    if (carrier_ == BinaryCarrier::Tcp) {
      wire::append_length_prefix(out, static_cast<std::uint32_t>(frame.size()));
      out.insert(out.end(), frame.begin(), frame.end());
    } else {
      wire::append_frame(out, wire::WebSocketOpcode::Binary, frame, wire::MaskKey{});
    }
    send(std::move(out));
  }
  void send(Bytes bytes) { connection_->send(std::move(bytes)); }
  void hello(const wire::StreamHello& hello = {}) {
    const Bytes body = wire::write_stream_hello(hello);
    say({.kind = BinaryKind::Hello, .body = body});
  }
  template <Packet P>
  void request(std::uint32_t seq, const P& packet) {
    const Bytes body = PacketTraits<P>::encode(packet);
    say({.kind = BinaryKind::Request,
         .packet = PacketTraits<P>::descriptor().id,
         .seq = {seq},
         .body = body});
  }
  template <Packet P>
  void one_way(const P& packet) {
    const Bytes body = PacketTraits<P>::encode(packet);
    say({.kind = BinaryKind::OneWay, .packet = PacketTraits<P>::descriptor().id, .body = body});
  }
  void ping(std::string_view payload) {
    if (carrier_ == BinaryCarrier::Tcp) {
      return say({.kind = BinaryKind::Ping, .body = as_bytes(payload)});
    }
    Bytes out;
    wire::append_frame(out, wire::WebSocketOpcode::Ping, as_bytes(payload), wire::MaskKey{});
    send(std::move(out));
  }
  void close(wire::CloseCode code, std::string_view reason) {
    Bytes out;
    if (carrier_ == BinaryCarrier::Tcp) {
      return say_bytes(wire::write_binary_close({code, std::string(reason)}));
    }
    wire::append_close_frame(out, code, reason, wire::MaskKey{});
    send(std::move(out));
  }

  // The Welcome, which must have come.
  wire::StreamWelcome welcome() const {
    REQUIRE_FALSE(heard.empty());
    REQUIRE(heard.front().kind == BinaryKind::Welcome);
    auto read = wire::read_stream_welcome(heard.front().body);
    REQUIRE(read);
    return *std::move(read);
  }
  const Heard& last() const {
    REQUIRE_FALSE(heard.empty());
    return heard.back();
  }

  std::vector<Heard> heard;  // without what the carrier has of its own
  std::optional<wire::WebSocketClose> close_seen;
  std::vector<std::string> pongs;
  int pings = 0;
  bool answers_pings = true;
  bool is_open = true;

 private:
  void take_frame(ByteView bytes) {
    const auto frame = wire::parse_binary_frame(bytes, wire::BinarySender::Server, carrier_);
    REQUIRE(frame);
    if (frame->kind == BinaryKind::Close) {
      close_seen = wire::close_of(*frame);
    } else if (frame->kind == BinaryKind::Ping) {
      take_ping(frame->body);
    } else if (frame->kind == BinaryKind::Pong) {
      pongs.emplace_back(as_text(frame->body));
    } else {
      heard.push_back({frame->kind, frame->code, frame->packet, frame->seq.value,
                       Bytes(frame->body.begin(), frame->body.end())});
    }
  }
  void take_tcp(ByteView bytes) {
    for (auto event = tcp_.next(bytes);
         event.kind != wire::LengthPrefixDecoder::Event::Kind::NeedMoreBytes;
         event = tcp_.next(bytes)) {
      REQUIRE(event.kind == wire::LengthPrefixDecoder::Event::Kind::Frame);
      take_frame(event.frame);
    }
  }
  void take_web_socket(ByteView bytes) {
    using Kind = wire::WebSocketEvent::Kind;
    for (auto event = web_socket_.next(bytes); event.kind != Kind::NeedMoreBytes;
         event = web_socket_.next(bytes)) {
      if (event.kind == Kind::Binary) take_frame(event.payload);
      if (event.kind == Kind::Close) close_seen = event.close;
      if (event.kind == Kind::Ping) take_ping(event.payload);
      if (event.kind == Kind::Pong) pongs.emplace_back(as_text(event.payload));
      REQUIRE(event.kind != Kind::Text);
      REQUIRE(event.kind != Kind::Failed);
    }
  }
  void take_ping(ByteView payload) {
    ++pings;
    if (!answers_pings) return;
    if (carrier_ == BinaryCarrier::Tcp) return say({.kind = BinaryKind::Pong, .body = payload});
    Bytes out;
    wire::append_frame(out, wire::WebSocketOpcode::Pong, payload, wire::MaskKey{});
    send(std::move(out));
  }

  const BinaryCarrier carrier_;
  wire::WebSocketDecoder web_socket_;
  wire::LengthPrefixDecoder tcp_;
  std::shared_ptr<spotmesh::testing::SimConnection> connection_;
};

}  // namespace spotmesh::stream
