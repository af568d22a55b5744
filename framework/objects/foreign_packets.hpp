// ForeignPackets: descriptors of packets that this process does not know by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include <spotmesh/packet.hpp>

namespace spotmesh::objects {

// A process knows the packets that its handlers take and those that its clients may get. What
// another node says may hold others: replies, and requests of creations, are named nowhere but in
// the code that decodes them, which compares ids. Such a packet gets a descriptor with a name made
// of its id; nothing else is known of it, so its bytes are sound to nobody until that code has
// verified them.
//
// From any thread. Entries are kept, as messages point to them, and bounded, as peers choose the
// ids.
class ForeignPackets {
 public:
  // The same descriptor each time; null when `most` others are kept already.
  const PacketDescriptor* find(PacketId id);

  static constexpr std::size_t most = 4096;

 private:
  struct Entry {
    std::string name;
    PacketDescriptor descriptor;
  };

  std::mutex mutex_;
  std::unordered_map<std::uint32_t, Entry> entries_;  // whose nodes stay where they are
};

}  // namespace spotmesh::objects
