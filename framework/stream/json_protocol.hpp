// JsonProtocol: the subprotocol spotmesh.v1.json in WebSocket frames (schemas/STREAM.md).
#pragma once

#include <string_view>

#include "stream/session_protocol.hpp"
#include "wire/packet_catalog.hpp"
#include "wire/websocket_decoder.hpp"

namespace spotmesh::stream {

class JsonProtocol final : public SessionProtocol {
 public:
  // `catalog` outlives it.
  JsonProtocol(const wire::PacketCatalog& catalog, std::size_t max_message_bytes);

  InboundEvent next(ByteView& input) override;
  bool has_partial_message() const override { return decoder_.has_partial_message(); }

  Encoding encoding() const override { return Encoding::WebSocketJson; }
  Result<SharedBytes> encode_push(const Message& message) const override;
  Result<SharedBytes> encode_reply(wire::RequestSeq seq, const Message& message) const override;
  SharedBytes encode_error_reply(wire::RequestSeq seq, const Error& error) const override;
  SharedBytes encode_ping() const override;
  SharedBytes encode_pong(ByteView payload) const override;
  SharedBytes encode_close(const wire::WebSocketClose& close) const override;

 private:
  InboundEvent read_text(std::string_view text) const;
  Result<std::string> payload_of(const Message& message) const;

  const wire::PacketCatalog& catalog_;
  const std::size_t max_message_bytes_;
  wire::WebSocketDecoder decoder_;
  bool has_failed_ = false;
};

}  // namespace spotmesh::stream
