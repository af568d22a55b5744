// PushEncodings: a broadcast's frame, encoded once and shared by all who get it.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>

#include "objects/metrics.hpp"
#include "stream/session_protocol.hpp"

namespace spotmesh::stream {

// Remembers the last pushes by the address of their payload, which a broadcast's receivers share,
// once for each encoding among them.
// The payload is kept along with the frame, so that no other can come to lie at its address.
// Bounded in number and bytes. Any thread.
class PushEncodings {
 public:
  // `encoded` counts the frames that were really made.
  explicit PushEncodings(objects::Count& encoded) : encoded_(encoded) {}

  // The frame of `message` in the encoding of `protocol`. Errors as SessionProtocol::encode_push.
  Result<SharedBytes> encode(const SessionProtocol& protocol, const Message& message);

 private:
  static constexpr std::size_t slot_count = 64;
  // Longer frames are encoded each time rather than kept.
  static constexpr std::size_t longest_kept_bytes = 16 * 1024;

  struct Slot {
    std::mutex mutex;
    const PacketDescriptor* descriptor = nullptr;
    SharedBytes payload;
    std::array<SharedBytes, encoding_count> frames;  // by Encoding; empty: not made yet
  };

  static std::size_t slot_of(const std::byte* payload);
  Result<SharedBytes> encode_anew(const SessionProtocol& protocol, const Message& message);

  objects::Count& encoded_;
  std::array<Slot, slot_count> slots_;
};

}  // namespace spotmesh::stream
