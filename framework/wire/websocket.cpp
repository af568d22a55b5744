#include "wire/websocket.hpp"

#include <cassert>
#include <cstring>

#include "base/utf8.hpp"
#include "wire/text.hpp"

namespace spotmesh::wire {
namespace {

constexpr std::uint8_t final_bit = 0x80;
constexpr std::uint8_t mask_bit = 0x80;
constexpr std::uint8_t two_byte_length = 126;
constexpr std::uint8_t eight_byte_length = 127;

bool is_control(WebSocketOpcode opcode) { return static_cast<std::uint8_t>(opcode) >= 0x8; }

void append_byte(Bytes& out, std::uint8_t value) { out.push_back(static_cast<std::byte>(value)); }

void append_big_endian(Bytes& out, std::uint64_t value, unsigned byte_count) {
  for (unsigned i = byte_count; i-- > 0;) {
    append_byte(out, static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

void append_length(Bytes& out, std::size_t length, std::uint8_t masked) {
  if (length < two_byte_length) {
    append_byte(out, static_cast<std::uint8_t>(masked | length));
  } else if (length <= 0xffff) {
    append_byte(out, masked | two_byte_length);
    append_big_endian(out, length, 2);
  } else {
    append_byte(out, masked | eight_byte_length);
    append_big_endian(out, length, 8);
  }
}

}  // namespace

void apply_mask(std::span<std::byte> data, MaskKey key, std::size_t offset) {
  std::array<std::byte, 8> rotated;
  for (std::size_t i = 0; i < rotated.size(); ++i) rotated[i] = key[(offset + i) % key.size()];
  std::uint64_t mask_word;
  std::memcpy(&mask_word, rotated.data(), sizeof mask_word);

  std::size_t i = 0;
  for (; data.size() - i >= sizeof(std::uint64_t); i += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, data.data() + i, sizeof word);
    word ^= mask_word;
    std::memcpy(data.data() + i, &word, sizeof word);
  }
  for (; i < data.size(); ++i) data[i] ^= rotated[i % rotated.size()];
}

void append_frame_header(Bytes& out, WebSocketOpcode opcode, std::size_t payload_bytes) {
  append_byte(out, final_bit | static_cast<std::uint8_t>(opcode));
  append_length(out, payload_bytes, 0);
}

void append_frame(Bytes& out, WebSocketOpcode opcode, ByteView payload, std::optional<MaskKey> mask,
                  bool is_final) {
  assert(!is_control(opcode) || (is_final && payload.size() <= max_control_payload_bytes));
  const auto first = static_cast<std::uint8_t>(opcode);
  append_byte(out, is_final ? first | final_bit : first);
  append_length(out, payload.size(), mask ? mask_bit : 0);
  if (mask) out.insert(out.end(), mask->begin(), mask->end());
  const std::size_t start = out.size();
  out.insert(out.end(), payload.begin(), payload.end());
  if (mask) apply_mask(std::span(out).subspan(start), *mask, 0);
}

void append_close_frame(Bytes& out, CloseCode code, std::string_view reason,
                        std::optional<MaskKey> mask) {
  Bytes payload;
  if (may_be_sent(code)) {
    append_big_endian(payload, static_cast<std::uint16_t>(code), 2);
    if (is_valid_utf8(reason)) {
      const ByteView fitting = as_bytes(cut_at_character(reason, max_close_reason_bytes));
      payload.insert(payload.end(), fitting.begin(), fitting.end());
    }
  }
  append_frame(out, WebSocketOpcode::Close, payload, mask);
}

}  // namespace spotmesh::wire
