#include "stream/push_encodings.hpp"

#include <cstdint>

namespace spotmesh::stream {

std::size_t PushEncodings::slot_of(const std::byte* payload) {
  const auto address = reinterpret_cast<std::uintptr_t>(payload);
  return static_cast<std::size_t>((address * 0x9e3779b97f4a7c15ULL) >> 32) % slot_count;
}

Result<SharedBytes> PushEncodings::encode_anew(const SessionProtocol& protocol,
                                               const Message& message) {
  encoded_.add();
  return protocol.encode_push(message);
}

Result<SharedBytes> PushEncodings::encode(const SessionProtocol& protocol, const Message& message) {
  const std::byte* payload = message.payload().view().data();
  if (payload == nullptr) return encode_anew(protocol, message);
  const auto encoding = static_cast<std::size_t>(protocol.encoding());
  Slot& slot = slots_[slot_of(payload)];
  const auto holds_it = [&] {
    return slot.payload.view().data() == payload && slot.descriptor == message.descriptor();
  };
  {
    std::lock_guard lock(slot.mutex);
    if (holds_it() && !slot.frames[encoding].empty()) return slot.frames[encoding];
  }
  auto frame = encode_anew(protocol, message);
  if (!frame || frame->size() > longest_kept_bytes) return frame;
  // What the slot held is freed behind the lock.
  SharedBytes kept_payload = message.payload();
  decltype(slot.frames) kept_frames;
  std::lock_guard lock(slot.mutex);
  if (!holds_it()) {
    slot.descriptor = message.descriptor();
    std::swap(slot.payload, kept_payload);
    std::swap(slot.frames, kept_frames);
  }
  slot.frames[encoding] = *frame;
  return frame;
}

}  // namespace spotmesh::stream
