// UTF-8 checked as it arrives, so that a bad byte is found before the rest of the message is here.
#pragma once

#include <cstdint>

#include <spotmesh/bytes.hpp>

namespace spotmesh::wire {

// Accepts exactly what is_valid_utf8() accepts, cut into pieces at any place.
class Utf8Validator {
 public:
  // Takes the next bytes. False when no continuation could make the text valid; bad_position() then
  // names the byte, and the validator must be reset before it is used again.
  bool feed(ByteView bytes);
  // Whether the text could end here: no sequence is open.
  bool is_complete() const { return missing_ == 0; }
  // Offset, from the start of the text, of the byte at which feed() stopped.
  std::uint64_t bad_position() const { return position_; }
  void reset() { *this = Utf8Validator(); }

 private:
  bool begin_sequence(std::uint8_t lead);
  bool continue_sequence(std::uint8_t byte);

  std::uint64_t position_ = 0;
  std::uint8_t missing_ = 0;  // continuation bytes that the open sequence still needs
  // What the next continuation byte may be; narrower than 80..bf only after some lead bytes, which
  // is how overlong forms, surrogates and values above U+10FFFF are kept out.
  std::uint8_t lowest_ = 0x80;
  std::uint8_t highest_ = 0xbf;
};

}  // namespace spotmesh::wire
