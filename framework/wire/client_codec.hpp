// The client's half of STREAM (schemas/STREAM.md): what a client says and hears, in each of its
// three forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>

#include "base/random.hpp"
#include "wire/close_codes.hpp"
#include "wire/length_prefix.hpp"
#include "wire/packet_catalog.hpp"
#include "wire/request_seq.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_handshake.hpp"
#include "wire/stream_json.hpp"
#include "wire/websocket_decoder.hpp"

namespace spotmesh::wire {

enum class StreamForm : std::uint8_t {
  Json,    // text messages of a WebSocket, spotmesh.v1.json
  Binary,  // binary messages of a WebSocket, spotmesh.v1
  Tcp      // binary frames behind their lengths
};

// The subprotocol of a form that goes over WebSocket.
constexpr std::string_view subprotocol_of(StreamForm form) {
  return form == StreamForm::Json ? json_subprotocol : binary_subprotocol;
}

// What the server said.
struct ClientEvent {
  enum class Kind : std::uint8_t {
    NeedMoreBytes,  // the input is used up
    Welcome,        // the answer to Hello; once, before any packet
    Push,
    Reply,
    Ping,  // to be answered with the same payload
    Pong,
    Close,  // the server ends the connection in order; nothing follows
    Failed  // the server broke the protocol; to be closed with `close`; nothing follows
  };
  Kind kind = Kind::NeedMoreBytes;
  StreamWelcome welcome;
  RequestSeq seq;  // of Reply
  // Of Push and Reply. NotFound for a packet that the catalog does not have, ProtocolError for one
  // that does not fit its schema; of Reply also the error that the server answered with.
  Result<Message> message;
  // Of Ping, and of Push and Reply the message as it came; valid until the next call of next().
  ByteView bytes;
  WebSocketClose close;  // of Close and Failed
};

// One connection, behind its HTTP upgrade if it has one. Not safe from several threads.
class ClientCodec {
 public:
  // `catalog` and `random` outlive it.
  ClientCodec(StreamForm form, const PacketCatalog& catalog, Random& random,
              std::size_t max_message_bytes);

  // Takes bytes from the front of `input` up to the end of the next event and returns that event.
  ClientEvent next(ByteView& input);
  // Whether Hello has to be said, and is answered by Welcome.
  bool begins_with_hello() const { return form_ != StreamForm::Json; }

  void append_hello(Bytes& out, const StreamHello& hello);
  // A request, or a one-way packet where `seq` is that. NotFound for a packet that the catalog does
  // not have; ProtocolError for unsound bytes; InvalidOperation for what JSON cannot say.
  Result<void> append_packet(Bytes& out, RequestSeq seq, const Message& message);
  // At most max_control_payload_bytes.
  void append_ping(Bytes& out, ByteView payload);
  void append_pong(Bytes& out, ByteView payload);
  void append_close(Bytes& out, const WebSocketClose& close);
  // Any message of a WebSocket.
  void append_message(Bytes& out, WebSocketOpcode opcode, ByteView payload);

 private:
  ClientEvent next_of_web_socket(ByteView& input);
  ClientEvent next_of_tcp(ByteView& input);
  ClientEvent read_text(std::string_view text) const;
  ClientEvent read_frame(ByteView bytes);
  ClientEvent read_welcome(ByteView body);
  Result<Message> message_of(const CatalogPacket* known, ByteView body) const;
  Result<Message> message_of(const std::string& packet, const nlohmann::json& payload) const;
  Result<void> append_json(Bytes& out, RequestSeq seq, const CatalogPacket& packet, ByteView body);
  void append_frame_of(Bytes& out, const BinaryFrame& frame);
  MaskKey next_mask();

  const StreamForm form_;
  const PacketCatalog& catalog_;
  Random& random_;
  const std::size_t max_message_bytes_;
  std::variant<WebSocketDecoder, LengthPrefixDecoder> decoder_;
  bool is_welcome_ = false;
  bool has_failed_ = false;
  Bytes frame_;  // while it is made
};

}  // namespace spotmesh::wire
