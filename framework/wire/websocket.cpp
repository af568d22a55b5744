#include "wire/websocket.hpp"

#include <algorithm>
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

// First byte and length; `masked` is the mask bit or 0.
std::size_t write_head(std::span<std::byte, max_frame_header_bytes> out, std::uint8_t first,
                       std::uint8_t masked, std::size_t length) {
  const auto put = [&](std::size_t at, std::uint64_t value, unsigned byte_count) {
    for (unsigned i = 0; i < byte_count; ++i) {
      out[at + i] = static_cast<std::byte>(value >> (8 * (byte_count - 1 - i)) & 0xff);
    }
    return at + byte_count;
  };
  out[0] = static_cast<std::byte>(first);
  if (length < two_byte_length) return put(1, masked | length, 1);
  if (length <= 0xffff) return put(put(1, masked | two_byte_length, 1), length, 2);
  return put(put(1, masked | eight_byte_length, 1), length, 8);
}

}  // namespace

void apply_mask(std::span<std::byte> data, MaskKey key, std::size_t offset) {
  if (const std::size_t phase = offset % key.size(); phase != 0) {
    std::rotate(key.begin(), key.begin() + phase, key.end());
  }
  std::uint32_t half;
  std::memcpy(&half, key.data(), sizeof half);
  const std::uint64_t mask_word = std::uint64_t{half} << 32 | half;

  std::size_t i = 0;
  for (; data.size() - i >= sizeof(std::uint64_t); i += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, data.data() + i, sizeof word);
    word ^= mask_word;
    std::memcpy(data.data() + i, &word, sizeof word);
  }
  for (; i < data.size(); ++i) data[i] ^= key[i % key.size()];
}

std::size_t write_frame_header(std::span<std::byte, max_frame_header_bytes> out,
                               WebSocketOpcode opcode, std::size_t payload_bytes) {
  return write_head(out, final_bit | static_cast<std::uint8_t>(opcode), 0, payload_bytes);
}

void append_frame(Bytes& out, WebSocketOpcode opcode, ByteView payload, std::optional<MaskKey> mask,
                  bool is_final) {
  assert(!is_control(opcode) || (is_final && payload.size() <= max_control_payload_bytes));
  const auto first = static_cast<std::uint8_t>(opcode);
  std::array<std::byte, max_frame_header_bytes> head;
  const std::size_t head_bytes =
      write_head(head, is_final ? first | final_bit : first, mask ? mask_bit : 0, payload.size());
  out.insert(out.end(), head.begin(), head.begin() + head_bytes);
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
