#include "wire/packet_catalog.hpp"

#include <string>

#include <spotmesh/error.hpp>

#include "wire/packet_shape.hpp"

namespace spotmesh::wire {

PacketCatalog::PacketCatalog() = default;
PacketCatalog::~PacketCatalog() = default;
PacketCatalog::PacketCatalog(PacketCatalog&&) noexcept = default;
PacketCatalog& PacketCatalog::operator=(PacketCatalog&&) noexcept = default;

void PacketCatalog::add(PacketSet packets) {
  for (const auto* descriptor : packets) add(*descriptor);
}

const CatalogPacket* PacketCatalog::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

const CatalogPacket* PacketCatalog::find(PacketId id) const {
  const auto found = by_id_.find(id.value);
  return found == by_id_.end() ? nullptr : found->second;
}

void PacketCatalog::add(const PacketDescriptor& descriptor) {
  if (const auto* known = find(descriptor.name)) {
    if (known->descriptor == &descriptor) return;
    throw ConfigurationError("packet " + std::string(descriptor.name) +
                             " is compiled into the program twice; link one library that has it");
  }
  if (const auto* known = find(descriptor.id)) {
    throw ConfigurationError("packets " + std::string(known->descriptor->name) + " and " +
                             std::string(descriptor.name) +
                             " have the same id on the wire; rename one of them");
  }
  const auto* shape = shapes_of(descriptor.schema).find_object(descriptor.name);
  if (shape == nullptr) {
    throw ConfigurationError("the binary schema of packet " + std::string(descriptor.name) +
                             " does not have it; compile its .fbs with spotmesh-packetc again");
  }
  const auto [place, is_new] =
      by_name_.emplace(descriptor.name, CatalogPacket{&descriptor, shape, shape->delivery});
  is_all_reliable_ = is_all_reliable_ && shape->delivery.is_reliable();
  by_id_.emplace(descriptor.id.value, &place->second);
  prints_.add(*shape);
}

const SchemaShapes& PacketCatalog::shapes_of(ByteView schema) {
  auto& shapes = shapes_[schema.data()];
  if (!shapes) shapes = std::make_unique<const SchemaShapes>(schema);
  return *shapes;
}

}  // namespace spotmesh::wire
