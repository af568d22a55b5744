// Frames put together byte by byte, independent of the encoder under test, and the events of a
// decoder as lines of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "wire/websocket_decoder.hpp"

namespace spotmesh::wire::test {

// Bytes from hexadecimal digits; blanks are skipped.
Bytes hex(std::string_view digits);

// What a frame looks like; the defaults make a lone masked frame of a client.
struct RawFrame {
  std::uint8_t first_byte = 0x81;  // FIN, reserved bits, opcode
  std::string payload;
  bool is_masked = true;
  MaskKey mask{std::byte{0x37}, std::byte{0xfa}, std::byte{0x21}, std::byte{0x3d}};
};

Bytes raw(const RawFrame& frame);
// A client's frame with this first byte.
Bytes client(std::uint8_t first_byte, std::string payload);
// A server's frame with this first byte.
Bytes server(std::uint8_t first_byte, std::string payload);
Bytes join(const std::vector<Bytes>& pieces);

// One line per event: `text hello`, `ping x`, `close 1000 bye`, `failed 1002 …`.
using Transcript = std::vector<std::string>;

Transcript feed_whole(const WebSocketDecoderOptions& options, ByteView bytes);
Transcript feed_in_bytes(const WebSocketDecoderOptions& options, ByteView bytes);
Transcript feed_in_pieces(const WebSocketDecoderOptions& options, ByteView bytes,
                          std::mt19937_64& random);

}  // namespace spotmesh::wire::test
