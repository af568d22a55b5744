// The packets that an application knows, by name and by id.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>

#include <spotmesh/packet.hpp>

#include "wire/delivery.hpp"
#include "wire/schema_prints.hpp"

namespace spotmesh::wire {

struct ObjectShape;
class SchemaShapes;

// A packet of a catalog: an address within it, valid as long as the catalog lives.
struct CatalogPacket {
  const PacketDescriptor* descriptor = nullptr;
  const ObjectShape* shape = nullptr;  // for JSON by schema
  Delivery delivery;
};

// Built once, when the application is put together, and only read afterwards, from any thread.
class PacketCatalog {
 public:
  PacketCatalog();
  ~PacketCatalog();
  PacketCatalog(PacketCatalog&&) noexcept;
  PacketCatalog& operator=(PacketCatalog&&) noexcept;

  // Adds packets; those already there are passed over. Throws ConfigurationError when two different
  // packets have one name or one id, or when a binary schema is damaged or does not have the
  // packet.
  void add(PacketSet packets);

  std::size_t size() const { return by_name_.size(); }
  // Null for what the application does not know.
  const CatalogPacket* find(std::string_view name) const;
  const CatalogPacket* find(PacketId id) const;
  // Whether the Delivery of all packets is reliable.
  bool is_all_reliable() const { return is_all_reliable_; }
  // How the packets and what they are made of are laid out.
  const SchemaPrints& prints() const { return prints_; }

 private:
  void add(const PacketDescriptor& descriptor);
  const SchemaShapes& shapes_of(ByteView schema);

  // Packets of one schema share its shapes; the key is the address of the binary schema.
  std::map<const std::byte*, std::unique_ptr<const SchemaShapes>> shapes_;
  std::unordered_map<std::string_view, CatalogPacket> by_name_;
  std::unordered_map<std::uint32_t, const CatalogPacket*> by_id_;
  SchemaPrints prints_;
  bool is_all_reliable_ = true;
};

}  // namespace spotmesh::wire
