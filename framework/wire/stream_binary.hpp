// The frames of the binary form of STREAM (schemas/STREAM.md): a header of fixed length and a body.
// In the subprotocol spotmesh.v1 each is one binary WebSocket message; over TCP it stands behind
// its length. What the body of a packet means is its schema's business.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/packet.hpp>

#include "wire/close_codes.hpp"
#include "wire/request_seq.hpp"

namespace spotmesh::wire {

inline constexpr std::string_view binary_subprotocol = "spotmesh.v1";
inline constexpr std::size_t binary_header_bytes = 12;

enum class BinaryKind : std::uint8_t {
  Hello = 1,       // client: the first frame
  Welcome = 2,     // server: the answer to it
  OneWay = 3,      // client
  Request = 4,     // client
  Push = 5,        // server
  Reply = 6,       // server
  ErrorReply = 7,  // server
  // Where the carrier has none of its own, which is over TCP; of either side.
  Ping = 8,
  Pong = 9,
  Close = 10,
};

// A field that a kind does not use is 0.
struct BinaryFrame {
  BinaryKind kind = BinaryKind::OneWay;
  std::uint16_t code = 0;  // ErrorReply: an ErrorKind; Close: a CloseCode
  PacketId packet;         // OneWay, Request, Push, Reply
  RequestSeq seq;          // Request, Reply, ErrorReply
  // Hello, Welcome: tables of schemas/stream_handshake.fbs; packets: a FlatBuffer; ErrorReply,
  // Close: text in UTF-8; Ping, Pong: anything. Of what was read: valid as long as its bytes.
  ByteView body;
};

enum class BinarySender : std::uint8_t { Client, Server };
// Whether Ping, Pong and Close are frames here or the carrier's.
enum class BinaryCarrier : std::uint8_t { WebSocket, Tcp };

// One whole frame. ProtocolError names the field and the fault, in words that can be the reason of
// a close. Strict: what the sender may not say there, or a field that must be 0 and is not, is
// refused. The body of a packet, of Hello and of Welcome is not looked into.
Result<BinaryFrame> parse_binary_frame(ByteView bytes, BinarySender sender, BinaryCarrier carrier);

// What stands before the body.
std::array<std::byte, binary_header_bytes> binary_header(const BinaryFrame& frame);

// Appends header and body.
void append_binary_frame(Bytes& out, const BinaryFrame& frame);

// The code and text of an ErrorReply; the text is cut and mended where it has to be.
Bytes write_binary_error_reply(RequestSeq seq, const Error& error);
// Of an ErrorReply that was read.
Error error_of(const BinaryFrame& frame);
// A Close. A code that must not be sent becomes NoStatus without a reason.
Bytes write_binary_close(const WebSocketClose& close);
// Of a Close that was read.
WebSocketClose close_of(const BinaryFrame& frame);

}  // namespace spotmesh::wire
