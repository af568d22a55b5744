// The binary form of STREAM (schemas/STREAM.md): in messages of a WebSocket, the subprotocol
// spotmesh.v1, and behind lengths over TCP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stream/session_protocol.hpp"
#include "wire/length_prefix.hpp"
#include "wire/packet_catalog.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_handshake.hpp"
#include "wire/websocket_decoder.hpp"

namespace spotmesh::stream {

// What both carriers have in common: frames, the handshake, packets by their id.
class BinaryProtocol : public SessionProtocol {
 public:
  bool begins_with_hello() const override { return true; }
  Result<SharedBytes> encode_push(const Message& message) const override;
  Result<SharedBytes> encode_reply(wire::RequestSeq seq, const Message& message) const override;
  Result<void> check_fits(const SharedBytes& frame) const override;
  SharedBytes encode_error_reply(wire::RequestSeq seq, const Error& error) const override;
  SharedBytes encode_welcome(const wire::StreamWelcome& welcome) const override;

 protected:
  using CarrierHeader = std::span<std::byte, wire::max_frame_header_bytes>;

  // `catalog` outlives it.
  BinaryProtocol(const wire::PacketCatalog& catalog, wire::BinaryCarrier carrier)
      : catalog_(catalog), carrier_(carrier) {}

  // What one frame of the client's says.
  InboundEvent read(ByteView bytes);
  SharedBytes carried(const wire::BinaryFrame& frame) const;
  // Of a frame that is bytes already.
  SharedBytes carried(ByteView frame) const;
  // Nothing more is read.
  InboundEvent failed(wire::CloseCode code, std::string reason);
  bool has_failed() const { return has_failed_; }

 private:
  // What the carrier has before `bytes` of a frame: writes it and returns how much it is; and how
  // much that is in a frame as it is sent.
  virtual std::size_t write_carrier_header(CarrierHeader out, std::size_t bytes) const = 0;
  virtual std::size_t carrier_header_bytes(std::size_t sent_bytes) const = 0;

  InboundEvent read_hello(ByteView body);
  InboundEvent read_packet(const wire::BinaryFrame& frame);
  Result<SharedBytes> encode_packet(wire::BinaryKind kind, wire::RequestSeq seq,
                                    const Message& message) const;

  const wire::PacketCatalog& catalog_;
  const wire::BinaryCarrier carrier_;
  bool has_said_hello_ = false;
  bool has_failed_ = false;
  // What the client takes, known before there is a session; 0: any.
  std::size_t client_message_bytes_ = 0;
};

class WebSocketBinaryProtocol final : public BinaryProtocol {
 public:
  WebSocketBinaryProtocol(const wire::PacketCatalog& catalog, std::size_t max_message_bytes);

  InboundEvent next(ByteView& input) override;
  bool has_partial_message() const override { return decoder_.has_partial_message(); }
  Encoding encoding() const override { return Encoding::WebSocketBinary; }
  SharedBytes encode_ping() const override;
  SharedBytes encode_pong(ByteView payload) const override;
  SharedBytes encode_close(const wire::WebSocketClose& close) const override;

 private:
  std::size_t write_carrier_header(CarrierHeader out, std::size_t bytes) const override;
  std::size_t carrier_header_bytes(std::size_t sent_bytes) const override;

  wire::WebSocketDecoder decoder_;
};

class TcpProtocol final : public BinaryProtocol {
 public:
  TcpProtocol(const wire::PacketCatalog& catalog, std::size_t max_message_bytes);

  InboundEvent next(ByteView& input) override;
  bool has_partial_message() const override { return decoder_.has_partial_frame(); }
  Encoding encoding() const override { return Encoding::TcpBinary; }
  SharedBytes encode_ping() const override;
  SharedBytes encode_pong(ByteView payload) const override;
  SharedBytes encode_close(const wire::WebSocketClose& close) const override;

 private:
  std::size_t write_carrier_header(CarrierHeader out, std::size_t bytes) const override;
  std::size_t carrier_header_bytes(std::size_t sent_bytes) const override;

  wire::LengthPrefixDecoder decoder_;
};

}  // namespace spotmesh::stream
