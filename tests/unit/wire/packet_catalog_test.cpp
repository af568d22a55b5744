#include "wire/packet_catalog.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <spotmesh/error.hpp>

#include "zoo.packets.hpp"

namespace {

using spotmesh::ConfigurationError;
using spotmesh::PacketDescriptor;
using spotmesh::PacketSet;
using spotmesh::PacketTraits;
using spotmesh::wire::PacketCatalog;

void add_one(PacketCatalog& catalog, const PacketDescriptor& descriptor) {
  const std::array<const PacketDescriptor*, 1> set = {&descriptor};
  catalog.add(PacketSet(set));
}

}  // namespace

TEST_CASE("a catalog finds packets by name and by id") {
  PacketCatalog catalog;
  catalog.add(zoo::packets());
  catalog.add(zoo::common::packets());
  CHECK(catalog.size() == zoo::packets().size());
  for (const auto* descriptor : zoo::packets()) {
    const auto* packet = catalog.find(descriptor->name);
    REQUIRE(packet != nullptr);
    CHECK(packet->descriptor == descriptor);
    CHECK(catalog.find(descriptor->id) == packet);
  }
  CHECK(catalog.find("zoo.Nothing") == nullptr);
  CHECK(catalog.find("") == nullptr);
  CHECK(catalog.find(spotmesh::PacketId{1}) == nullptr);

  const auto* before = catalog.find("zoo.Tree");
  const PacketCatalog moved = std::move(catalog);
  CHECK(moved.find("zoo.Tree") == before);
}

TEST_CASE("two different packets of one name or id are refused") {
  PacketCatalog catalog;
  catalog.add(zoo::packets());
  const auto& tree = PacketTraits<zoo::Tree>::descriptor();
  const PacketDescriptor same_name = {
      .id = {1}, .name = tree.name, .schema = tree.schema, .verify = tree.verify};
  CHECK_THROWS_WITH(add_one(catalog, same_name),
                    "packet zoo.Tree is compiled into the program twice; link one library that has "
                    "it");
  const PacketDescriptor same_id = {
      .id = tree.id, .name = "zoo.Detail", .schema = tree.schema, .verify = tree.verify};
  CHECK_THROWS_WITH(add_one(catalog, same_id),
                    "packets zoo.Tree and zoo.Detail have the same id on "
                    "the wire; rename one of them");
  CHECK(catalog.size() == zoo::packets().size());
}

TEST_CASE("a damaged or foreign binary schema is refused") {
  const auto& tree = PacketTraits<zoo::Tree>::descriptor();
  PacketCatalog catalog;
  const PacketDescriptor cut = {.id = {1},
                                .name = "zoo.Cut",
                                .schema = tree.schema.subspan(0, tree.schema.size() / 2),
                                .verify = tree.verify};
  CHECK_THROWS_AS(add_one(catalog, cut), ConfigurationError);
  const PacketDescriptor absent = {
      .id = {2}, .name = "zoo.Absent", .schema = tree.schema, .verify = tree.verify};
  PacketCatalog other;
  CHECK_THROWS_WITH(add_one(other, absent),
                    Catch::StartsWith("the binary schema of packet zoo.Absent does not have it"));
}
