#include "base/utf8.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spotmesh {
namespace {

// Whether eight bytes from there are ASCII all of them, as most text is.
bool is_ascii_word(const char* place) {
  std::uint64_t word;
  std::memcpy(&word, place, sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

// The number of bytes of the sequence that starts with `lead`, which is no ASCII, or 0 when no
// sequence may start with it.
std::size_t sequence_length(std::uint8_t lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

// The second byte carries the limits that rule out overlong forms, surrogates and values above
// U+10FFFF.
bool is_second_byte(std::uint8_t lead, std::uint8_t second) {
  std::uint8_t lowest = 0x80;
  std::uint8_t highest = 0xbf;
  if (lead == 0xe0) lowest = 0xa0;
  if (lead == 0xed) highest = 0x9f;
  if (lead == 0xf0) lowest = 0x90;
  if (lead == 0xf4) highest = 0x8f;
  return second >= lowest && second <= highest;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  const auto byte_at = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::size_t i = 0;
  while (i < text.size()) {
    while (text.size() - i >= sizeof(std::uint64_t) && is_ascii_word(text.data() + i)) {
      i += sizeof(std::uint64_t);
    }
    if (i == text.size()) break;
    // The last few together with some that have been looked at.
    if (text.size() - i < sizeof(std::uint64_t) && text.size() >= sizeof(std::uint64_t) &&
        is_ascii_word(text.data() + text.size() - sizeof(std::uint64_t))) {
      break;
    }
    const std::uint8_t lead = byte_at(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = sequence_length(lead);
    if (length == 0 || text.size() - i < length) return false;
    if (!is_second_byte(lead, byte_at(i + 1))) return false;
    for (std::size_t k = 2; k < length; ++k) {
      if ((byte_at(i + k) & 0xc0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace spotmesh
