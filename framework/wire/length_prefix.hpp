// Frames behind their length: four bytes, little-endian. How STREAM's binary frames go over TCP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <spotmesh/bytes.hpp>
#include <spotmesh/limits.hpp>

#include "wire/close_codes.hpp"

namespace spotmesh::wire {

inline constexpr std::size_t length_prefix_bytes = 4;

// Appends the length of what is behind it.
std::array<std::byte, length_prefix_bytes> length_prefix(std::uint32_t length);
void append_length_prefix(Bytes& out, std::uint32_t length);

// Takes one connection apart. The caller pulls frames, so it can stop between two that arrived
// together. Memory grows only by bytes that have really arrived: a length out of bounds is refused
// as soon as its four bytes are here, and none reserves anything. Not safe from several threads.
class LengthPrefixDecoder {
 public:
  struct Bounds {
    std::size_t min_frame_bytes = 1;
    std::size_t max_frame_bytes = limits::stream_message_bytes;
  };
  struct Event {
    enum class Kind : std::uint8_t {
      NeedMoreBytes,  // the input is used up
      Frame,
      Failed,  // a length out of bounds; to be closed with `close`; nothing follows
    };
    Kind kind = Kind::NeedMoreBytes;
    ByteView frame;        // of Frame; valid until the next call of next()
    WebSocketClose close;  // of Failed: BadMessage or MessageTooBig
  };

  explicit LengthPrefixDecoder(Bounds bounds) : bounds_(bounds) {}

  // Takes bytes from the front of `input` up to the end of the next frame and returns it. After
  // Failed, input is swallowed and NeedMoreBytes is returned.
  Event next(ByteView& input);

  // A frame has begun and not ended.
  bool has_partial_frame() const { return prefix_size_ > 0 && !has_failed_; }
  // What the decoder holds on the heap.
  std::size_t buffered_capacity_bytes() const { return frame_.capacity(); }

 private:
  bool take_prefix(ByteView& input);
  Event fail(WebSocketClose close, ByteView& input);
  Event deliver(ByteView frame);

  const Bounds bounds_;
  std::array<std::byte, length_prefix_bytes> prefix_{};
  std::size_t prefix_size_ = 0;
  std::size_t length_ = 0;     // once the prefix is whole
  Bytes frame_;                // what came of a frame in pieces
  bool is_delivered_ = false;  // frame_ was handed out and goes with the next call
  bool has_failed_ = false;
};

}  // namespace spotmesh::wire
