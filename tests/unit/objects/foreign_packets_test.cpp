#include "objects/foreign_packets.hpp"

#include <catch2/catch.hpp>

using namespace spotmesh;
using namespace spotmesh::objects;

TEST_CASE("a packet known by its id alone is the same each time, and sound to nobody") {
  ForeignPackets packets;
  const PacketDescriptor* first = packets.find(PacketId{0x1234abcd});
  REQUIRE(first != nullptr);
  CHECK(first->id == PacketId{0x1234abcd});
  CHECK(first->name == "packet 1234abcd");
  CHECK_FALSE(first->verify({}));
  for (std::uint32_t id = 1; id < 100; ++id) CHECK(packets.find(PacketId{id})->id.value == id);
  CHECK(packets.find(PacketId{0x1234abcd}) == first);
}

TEST_CASE("a peer that makes up packets fills a bounded number of places") {
  ForeignPackets packets;
  for (std::uint32_t id = 1; id <= ForeignPackets::most; ++id) {
    REQUIRE(packets.find(PacketId{id}) != nullptr);
  }
  CHECK(packets.find(PacketId{ForeignPackets::most + 1}) == nullptr);
  CHECK(packets.find(PacketId{7}) != nullptr);
}
