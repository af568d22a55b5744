// Frames on a stream of bytes: each stands behind its length.
#pragma once

#include <cstddef>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

namespace spotmesh::net {

// A length is 4 bytes, little-endian, and counts what follows it.
class FrameCutter {
 public:
  static constexpr std::size_t prefix_bytes = 4;

  explicit FrameCutter(std::size_t longest) : longest_(longest) {}

  // Adds the frames that `bytes` complete. ProtocolError, with what is wrong, for a length of 0 or
  // above the longest; nothing more may be taken then. Memory is taken for bytes that have come,
  // never for a length.
  Result<void> take(ByteView bytes, std::vector<SharedBytes>& frames);

 private:
  Result<std::size_t> length_of(ByteView prefix) const;
  void fill(ByteView& bytes, std::size_t wanted);

  const std::size_t longest_;
  Bytes begun_;  // a frame that is not whole yet, with its prefix
};

// Frames with their prefixes, those that are short together.
std::vector<SharedBytes> with_prefixes(std::vector<SharedBytes> frames);

}  // namespace spotmesh::net
