#include "objects/foreign_packets.hpp"

#include <fmt/format.h>

namespace spotmesh::objects {

const PacketDescriptor* ForeignPackets::find(PacketId id) {
  const std::scoped_lock lock(mutex_);
  const auto known = entries_.find(id.value);
  if (known != entries_.end()) return &known->second.descriptor;
  if (entries_.size() >= most) return nullptr;
  Entry& entry = entries_[id.value];
  entry.name = fmt::format("packet {:08x}", id.value);
  entry.descriptor = {
      .id = id, .name = entry.name, .schema = {}, .verify = [](ByteView) { return false; }};
  return &entry.descriptor;
}

}  // namespace spotmesh::objects
