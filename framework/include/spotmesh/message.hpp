// Message: an encoded packet on its way.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/packet.hpp>

namespace spotmesh {

// Small string pairs that travel with a message; at most 16 pairs and 4096 bytes together.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// An encoded packet: immutable, cheap to copy, the same for a local and a remote receiver. A
// default Message is empty: it names no packet and has no payload.
class Message {
 public:
  Message() = default;
  Message(const PacketDescriptor& descriptor, SharedBytes payload)
      : descriptor_(&descriptor), payload_(std::move(payload)) {}

  // The same, of bytes from elsewhere that `descriptor.verify` has just found sound: decode() takes
  // its word for it.
  static Message verified(const PacketDescriptor& descriptor, SharedBytes payload) {
    Message message(descriptor, std::move(payload));
    message.is_verified_ = true;
    return message;
  }

  // Encodes `packet` now; changing it afterwards changes nothing the receiver sees.
  template <Packet T>
  static Message of(const T& packet) {
    return Message(PacketTraits<T>::descriptor(), PacketTraits<T>::encode_shared(packet));
  }

  bool is_empty() const { return descriptor_ == nullptr; }
  // Null for an empty message.
  const PacketDescriptor* descriptor() const { return descriptor_; }
  // The packet's full name; empty for an empty message.
  std::string_view packet_name() const {
    return descriptor_ ? descriptor_->name : std::string_view();
  }
  const SharedBytes& payload() const { return payload_; }
  const Metadata& metadata() const { return metadata_; }
  Metadata& metadata() { return metadata_; }

  template <Packet T>
  bool holds() const {
    return descriptor_ != nullptr && descriptor_->id == PacketTraits<T>::descriptor().id;
  }
  // ProtocolError when the message holds another packet (both names in the text) or its bytes are
  // unsound.
  template <Packet T>
  Result<T> decode() const {
    if (!holds<T>()) return fail(wrong_packet(PacketTraits<T>::descriptor().name));
    if (is_verified_ && descriptor_ == &PacketTraits<T>::descriptor()) {
      return PacketTraits<T>::decode_sound(payload_.view());
    }
    return PacketTraits<T>::decode(payload_.view());
  }

 private:
  Error wrong_packet(std::string_view wanted) const;

  const PacketDescriptor* descriptor_ = nullptr;
  SharedBytes payload_;
  bool is_verified_ = false;
  Metadata metadata_;
};

}  // namespace spotmesh
