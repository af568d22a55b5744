#include "wire/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace spotmesh::wire {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 64;

constexpr auto digits = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(no_digit);
  for (std::size_t digit = 0; digit < alphabet.size(); ++digit) {
    table[static_cast<unsigned char>(alphabet[digit])] = static_cast<std::uint8_t>(digit);
  }
  return table;
}();

}  // namespace

void append_base64(std::string& out, ByteView bytes) {
  for (std::size_t start = 0; start < bytes.size(); start += 3) {
    const auto count = bytes.size() - start < 3 ? bytes.size() - start : 3;
    std::uint32_t group = 0;
    for (std::size_t index = 0; index < 3; ++index) {
      const auto octet = index < count ? std::to_integer<std::uint32_t>(bytes[start + index]) : 0;
      group = (group << 8) | octet;
    }
    for (std::size_t index = 0; index < 4; ++index) {
      out += index <= count ? alphabet[(group >> (18 - 6 * index)) & 63] : '=';
    }
  }
}

std::optional<Bytes> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  Bytes bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t start = 0; start < text.size(); start += 4) {
    const auto count = start + 4 == text.size() ? 4 - padding : 4;
    std::uint32_t group = 0;
    for (std::size_t index = 0; index < 4; ++index) {
      const auto digit =
          index < count ? digits[static_cast<unsigned char>(text[start + index])] : 0;
      if (digit == no_digit) return std::nullopt;
      group = (group << 6) | digit;
    }
    for (std::size_t index = 0; index + 1 < count; ++index) {
      bytes.push_back(static_cast<std::byte>(group >> (16 - 8 * index)));
    }
    // The bits of the last digit that stand for no byte are zero.
    const auto used_bits = 8 * (count - 1);
    if (count < 4 && (group & ((1U << (24 - used_bits)) - 1)) != 0) return std::nullopt;
  }
  return bytes;
}

}  // namespace spotmesh::wire
