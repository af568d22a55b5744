#include <flatbuffers/flatbuffers.h>

#include <catch2/catch.hpp>
#include <random>
#include <spotmesh/limits.hpp>
#include <stdexcept>
#include <string>

#include "unit/packetc/zoo/values.hpp"
#include "zoo.packets.hpp"

namespace {

using spotmesh::Bytes;
using spotmesh::ByteView;
using spotmesh::ErrorKind;
using spotmesh::PacketTraits;

// Offsets of fields in zoo.Everything's vtable, as the schema numbers them.
constexpr std::uint16_t texts_field = 4 + 2 * 36;

bool is_sound(const Bytes& bytes) {
  return PacketTraits<zoo::Everything>::descriptor().verify(bytes);
}

// Whatever the bytes are: a value, or ProtocolError with the packet's name.
void decode_safely(ByteView bytes) {
  const auto decoded = PacketTraits<zoo::Everything>::decode(bytes);
  const bool is_sound = PacketTraits<zoo::Everything>::descriptor().verify(bytes);
  REQUIRE(decoded.has_value() == is_sound);
  if (decoded) {
    try {
      static_cast<void>(PacketTraits<zoo::Everything>::encode(*decoded));
    } catch (const std::logic_error&) {
      // A vector element of an alternative that this schema does not know decoded to none.
    }
  } else {
    REQUIRE(decoded.error().kind() == ErrorKind::ProtocolError);
    REQUIRE(decoded.error().message() == "the bytes are not a sound zoo.Everything packet");
  }
}

Bytes finished(flatbuffers::FlatBufferBuilder& builder, flatbuffers::uoffset_t root) {
  builder.Finish(flatbuffers::Offset<void>(root));
  const auto* first = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {first, first + builder.GetSize()};
}

// zoo.Everything with nothing but texts: `count` references to one string.
Bytes with_shared_text(std::size_t count, const std::string& text) {
  flatbuffers::FlatBufferBuilder builder;
  const auto string = builder.CreateString(text);
  const auto texts =
      builder.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::String>>(count, string));
  const auto start = builder.StartTable();
  builder.AddOffset(texts_field, texts);
  return finished(builder, builder.EndTable(start));
}

}  // namespace

TEST_CASE("a packet that is cut anywhere is refused", "[packetc]") {
  const auto bytes = PacketTraits<zoo::Everything>::encode(zoo::some_everything());
  REQUIRE(is_sound(bytes));
  std::size_t refused = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A vector of its own, so that reading past the end is noticed.
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    decode_safely(cut);
    if (!is_sound(cut)) ++refused;
  }
  // The builder pads the end of a buffer; all but that padding matters.
  CHECK(refused >= bytes.size() - 16);
}

TEST_CASE("flipped bits never break decoding", "[packetc]") {
  std::mt19937_64 random(7);
  const auto bytes = PacketTraits<zoo::Everything>::encode(zoo::some_everything());
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    auto damaged = bytes;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    decode_safely(damaged);
  }
  for (int round = 0; round < 20'000; ++round) {
    auto damaged = bytes;
    for (int flips = 0; flips < 4; ++flips) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    }
    decode_safely(damaged);
  }
}

TEST_CASE("random bytes never break decoding", "[packetc]") {
  std::mt19937_64 random(8);
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes(random() % 200);
    for (auto& octet : bytes)
      octet = static_cast<std::byte>(random() % (round % 2 == 0 ? 256 : 24));
    decode_safely(bytes);
  }
}

TEST_CASE("a string that is shared too often to be decoded is refused", "[packetc]") {
  const std::string text(1024, 'x');
  // Each reference costs the string, its length, its end and the offset.
  const auto fitting = spotmesh::limits::message_bytes / (text.size() + 16);
  CHECK(is_sound(with_shared_text(fitting, text)));
  CHECK_FALSE(is_sound(with_shared_text(fitting * 2, text)));
}

TEST_CASE("strings that are not UTF-8 are refused", "[packetc]") {
  CHECK(is_sound(with_shared_text(1, "\xc3\xa9")));
  CHECK_FALSE(is_sound(with_shared_text(1, "\xc3")));
  CHECK_FALSE(is_sound(with_shared_text(1, "\xed\xa0\x80")));
}

TEST_CASE("more tables than the limit are refused", "[packetc]") {
  zoo::Everything packet;
  packet.labels.resize(spotmesh::limits::packet_tables - 1);
  CHECK(is_sound(PacketTraits<zoo::Everything>::encode(packet)));
  packet.labels.emplace_back();
  CHECK_FALSE(is_sound(PacketTraits<zoo::Everything>::encode(packet)));
}

TEST_CASE("a required field that is missing makes a packet unsound", "[packetc]") {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = finished(builder, builder.EndTable(builder.StartTable()));
  CHECK(PacketTraits<zoo::Everything>::descriptor().verify(bytes));
  CHECK_FALSE(PacketTraits<zoo::Required>::descriptor().verify(bytes));
  CHECK_FALSE(PacketTraits<zoo::Fish>::descriptor().verify(bytes));
}

TEST_CASE("a union has a type and a value, or neither", "[packetc]") {
  constexpr std::uint16_t type_field = 4 + 2 * 4;  // zoo.Tree.animal
  const auto tree = [&](std::uint8_t type, bool has_value) {
    flatbuffers::FlatBufferBuilder builder;
    const auto value = builder.CreateString("note");
    const auto start = builder.StartTable();
    if (has_value) builder.AddOffset(type_field + 2, value);
    builder.AddElement<std::uint8_t>(type_field, type, 0);
    return finished(builder, builder.EndTable(start));
  };
  const auto verify = PacketTraits<zoo::Tree>::descriptor().verify;
  constexpr auto note = static_cast<std::uint8_t>(zoo::AnimalType::note);
  CHECK(verify(tree(0, false)));
  CHECK(verify(tree(note, true)));
  CHECK_FALSE(verify(tree(note, false)));
  CHECK_FALSE(verify(tree(0, true)));
}

TEST_CASE("an alternative of a newer schema decodes to none", "[packetc]") {
  flatbuffers::FlatBufferBuilder builder;
  const auto value = builder.CreateString("something new");
  const auto start = builder.StartTable();
  builder.AddOffset(4 + 2 * 5, value);
  builder.AddElement<std::uint8_t>(4 + 2 * 4, 200, 0);
  const auto tree = PacketTraits<zoo::Tree>::decode(finished(builder, builder.EndTable(start)));
  REQUIRE(tree.has_value());
  CHECK(std::holds_alternative<std::monostate>(tree->animal));
}

TEST_CASE("random packets survive the way to bytes and back", "[packetc]") {
  std::mt19937_64 random(9);
  for (int round = 0; round < 500; ++round) {
    const auto packet = zoo::random_everything(random);
    const auto bytes = PacketTraits<zoo::Everything>::encode(packet);
    REQUIRE(PacketTraits<zoo::Everything>::decode(bytes) == packet);
    const auto required = zoo::random_required(random);
    REQUIRE(PacketTraits<zoo::Required>::decode(PacketTraits<zoo::Required>::encode(required)) ==
            required);
  }
}
