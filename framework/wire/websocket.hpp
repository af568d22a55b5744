// What both directions of the WebSocket framing (RFC 6455, section 5) have in common, and the
// encoder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <spotmesh/bytes.hpp>

#include "wire/close_codes.hpp"

namespace spotmesh::wire {

enum class WebSocketOpcode : std::uint8_t {
  Continuation = 0x0,
  Text = 0x1,
  Binary = 0x2,
  Close = 0x8,
  Ping = 0x9,
  Pong = 0xa,
};

// The longest payload of a close, ping or pong frame, and of the reason inside a close frame.
inline constexpr std::size_t max_control_payload_bytes = 125;
inline constexpr std::size_t max_close_reason_bytes = 123;
// The longest header: two bytes, an eight-byte length and a mask key.
inline constexpr std::size_t max_frame_header_bytes = 14;

// The four bytes with which a client masks one frame; they must be unpredictable, fresh for each
// frame.
using MaskKey = std::array<std::byte, 4>;

// XORs `data` with the key, whose phase is `offset` bytes into the frame's payload. Masking twice
// restores.
void apply_mask(std::span<std::byte> data, MaskKey key, std::size_t offset);

// Appends one whole frame, its length in the shortest form. A client passes a mask, a server none:
// an unmasked frame is the same for every receiver, so that a broadcast is encoded once and shared.
// A control frame's payload must not exceed max_control_payload_bytes, and it is always final.
void append_frame(Bytes& out, WebSocketOpcode opcode, ByteView payload,
                  std::optional<MaskKey> mask = std::nullopt, bool is_final = true);

// Writes the header of a server's whole frame, for a payload that follows it. Returns how many
// bytes it has.
std::size_t write_frame_header(std::span<std::byte, max_frame_header_bytes> out,
                               WebSocketOpcode opcode, std::size_t payload_bytes);

// Appends a close frame. NoStatus, and any code that must not be sent, gives a frame without code
// and reason. A reason longer than a control frame holds is cut at a character's end; one that is
// not UTF-8 is left out.
void append_close_frame(Bytes& out, CloseCode code, std::string_view reason,
                        std::optional<MaskKey> mask = std::nullopt);

}  // namespace spotmesh::wire
