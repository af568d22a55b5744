#include "wire/utf8_validator.hpp"

#include <cstddef>
#include <cstring>

namespace spotmesh::wire {
namespace {

constexpr std::uint64_t high_bit_of_each_byte = 0x8080'8080'8080'8080ULL;

// How many of the first bytes, in whole words, are ASCII.
std::size_t leading_ascii_words(ByteView bytes) {
  std::size_t length = 0;
  while (bytes.size() - length >= sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + length, sizeof word);
    if ((word & high_bit_of_each_byte) != 0) break;
    length += sizeof word;
  }
  return length;
}

}  // namespace

bool Utf8Validator::feed(ByteView bytes) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    if (missing_ == 0) {
      const std::size_t skipped = leading_ascii_words(bytes.subspan(i));
      i += skipped;
      position_ += skipped;
      if (i == bytes.size()) break;
    }
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    if (missing_ == 0 ? !begin_sequence(byte) : !continue_sequence(byte)) return false;
    ++i;
    ++position_;
  }
  return true;
}

bool Utf8Validator::begin_sequence(std::uint8_t lead) {
  lowest_ = 0x80;
  highest_ = 0xbf;
  if (lead < 0x80) return true;
  if (lead < 0xc2 || lead > 0xf4) return false;
  missing_ = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
  if (lead == 0xe0) lowest_ = 0xa0;
  if (lead == 0xed) highest_ = 0x9f;
  if (lead == 0xf0) lowest_ = 0x90;
  if (lead == 0xf4) highest_ = 0x8f;
  return true;
}

bool Utf8Validator::continue_sequence(std::uint8_t byte) {
  if (byte < lowest_ || byte > highest_) return false;
  lowest_ = 0x80;
  highest_ = 0xbf;
  --missing_;
  return true;
}

}  // namespace spotmesh::wire
