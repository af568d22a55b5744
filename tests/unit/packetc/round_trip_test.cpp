#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <spotmesh/message.hpp>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "unit/packetc/zoo/values.hpp"
#include "zoo.packets.hpp"
#include "zoo.views.hpp"

namespace {

using spotmesh::Boxed;
using spotmesh::Bytes;
using spotmesh::ByteView;
using spotmesh::ErrorKind;
using spotmesh::PacketTraits;

template <typename T>
T round_trip(const T& packet) {
  const auto bytes = PacketTraits<T>::encode(packet);
  auto decoded = PacketTraits<T>::decode(bytes);
  REQUIRE(decoded.has_value());
  // Equal values have equal bytes.
  CHECK(PacketTraits<T>::encode(*decoded) == bytes);
  return *decoded;
}

}  // namespace

TEST_CASE("a message whose bytes were verified when they came gives the same packet", "[packetc]") {
  using spotmesh::Message;
  const auto packet = zoo::some_everything();
  const auto& descriptor = PacketTraits<zoo::Everything>::descriptor();
  const auto payload = PacketTraits<zoo::Everything>::encode_shared(packet);
  REQUIRE(descriptor.verify(payload.view()));
  const auto message = Message::verified(descriptor, payload);
  CHECK(message.decode<zoo::Everything>().value() == packet);
  CHECK(Message(message).decode<zoo::Everything>().value() == packet);
  CHECK(message.decode<zoo::Lion>().error().kind() == ErrorKind::ProtocolError);
  CHECK(PacketTraits<zoo::Everything>::decode_sound(payload.view()) == packet);
  // One that nobody has verified is looked at.
  const Message unsound(descriptor, spotmesh::SharedBytes::copy_of(payload.view().first(9)));
  CHECK(unsound.decode<zoo::Everything>().error().kind() == ErrorKind::ProtocolError);
}

TEST_CASE("a packet of nothing but defaults has the schema's defaults", "[packetc]") {
  const auto packet = round_trip(zoo::Everything{});
  CHECK(packet == zoo::Everything{});
  CHECK(packet.flag);
  CHECK(packet.big == std::numeric_limits<std::int64_t>::min());
  CHECK(packet.powers == (zoo::common::Power::Fly | zoo::common::Power::Dig));
  CHECK(packet.size == zoo::Size::Huge);
  CHECK(packet.maybe_number == std::nullopt);
  CHECK(PacketTraits<zoo::Everything>::encode(packet).size() <= 16);
}

TEST_CASE("every kind of field survives the way to bytes and back", "[packetc]") {
  const auto packet = zoo::some_everything();
  CHECK(round_trip(packet) == packet);
}

TEST_CASE("an optional scalar tells its default from being absent", "[packetc]") {
  zoo::Everything packet;
  packet.maybe_number = 0;
  packet.maybe_flag = false;
  const auto decoded = round_trip(packet);
  CHECK(decoded.maybe_number == 0);
  CHECK(decoded.maybe_flag == false);
  CHECK(decoded.maybe_big == std::nullopt);
}

TEST_CASE("a table that holds itself is boxed, and copies are deep", "[packetc]") {
  const auto tree = zoo::some_tree();
  CHECK(round_trip(tree) == tree);
  auto copy = tree;
  copy.left->right->name = "changed";
  CHECK(copy != tree);
  CHECK(tree.left->right->name == "left right");
  copy = zoo::Tree(*copy.left);
  CHECK(copy.right->name == "changed");
}

TEST_CASE("a boxed value may be replaced by a part of itself", "[packetc]") {
  Boxed<zoo::Tree> list(zoo::Tree{.name = "first"});
  list->left.emplace(zoo::Tree{.name = "second"});
  SECTION("by copying") { list = list->left; }
  SECTION("by moving") { list = std::move(list->left); }
  CHECK(list->name == "second");
  CHECK_FALSE(list->left.has_value());
}

TEST_CASE("required fields are written even when they are empty", "[packetc]") {
  const auto packet = zoo::some_required();
  CHECK(round_trip(packet) == packet);
}

TEST_CASE("a required union without a value cannot be encoded", "[packetc]") {
  auto packet = zoo::some_required();
  packet.animal = std::monostate{};
  CHECK_THROWS_WITH(PacketTraits<zoo::Required>::encode(packet),
                    Catch::Contains("zoo.Required.animal is a union that must hold a value"));
  packet.animal = Boxed<zoo::Lion>();
  CHECK_THROWS_AS(PacketTraits<zoo::Required>::encode(packet), std::logic_error);
  zoo::Everything list;
  list.animals.emplace_back();
  CHECK_THROWS_WITH(PacketTraits<zoo::Everything>::encode(list),
                    Catch::Contains("zoo.Everything.animals"));
}

TEST_CASE("a packet nested deeper than the limit cannot be encoded", "[packetc]") {
  const auto chain = [](unsigned depth) {
    zoo::Tree tree;
    for (unsigned level = 1; level < depth; ++level) {
      zoo::Tree parent;
      parent.left = std::move(tree);
      tree = std::move(parent);
    }
    return tree;
  };
  const auto deepest = chain(spotmesh::limits::packet_depth);
  CHECK(round_trip(deepest) == deepest);
  CHECK_THROWS_AS(PacketTraits<zoo::Tree>::encode(chain(spotmesh::limits::packet_depth + 1)),
                  std::length_error);
}

TEST_CASE("names that C++ reserves get an underscore", "[packetc]") {
  zoo::class_ packet{.int_ = 1, .while_ = "w", .namespace_ = {1.5}};
  packet.Size = zoo::Size::Huge;
  CHECK(round_trip(packet) == packet);
  CHECK(PacketTraits<zoo::class_>::descriptor().name == "zoo.class");
}

TEST_CASE("enums convert to their names and back", "[packetc]") {
  using zoo::common::Mood;
  using zoo::common::Power;
  CHECK(to_string(Mood::Angry) == "Angry");
  CHECK(to_string(Mood{77}).empty());
  Mood mood = Mood::Calm;
  CHECK(parse("Glad", mood));
  CHECK(mood == Mood::Glad);
  CHECK_FALSE(parse("glad", mood));
  CHECK_FALSE(parse("", mood));
  CHECK(mood == Mood::Glad);

  CHECK(to_string(Power::Fly | Power::Dig) == "Fly Dig");
  CHECK(to_string(Power{}).empty());
  Power powers = Power::Swim;
  CHECK(parse("Dig Fly", powers));
  CHECK(powers == (Power::Fly | Power::Dig));
  for (const auto* wrong : {"Fly ", " Fly", "Fly  Dig", "Fly|Dig", "Run"}) {
    CHECK_FALSE(parse(wrong, powers));
  }
  CHECK(parse("", powers));
  CHECK(powers == Power{});
}

TEST_CASE("packets() has all packets of the schema and its includes, sorted", "[packetc]") {
  std::vector<std::string> names;
  for (const auto* descriptor : zoo::packets()) names.emplace_back(descriptor->name);
  CHECK(names == std::vector<std::string>{"zoo.Empty", "zoo.Everything", "zoo.Fish", "zoo.Holder",
                                          "zoo.Lion", "zoo.Required", "zoo.Tree", "zoo.back.Visit",
                                          "zoo.class", "zoo.common.Label"});
  CHECK(zoo::common::packets().size() == 1);
  CHECK(zoo::common::packets()[0] == &PacketTraits<zoo::common::Label>::descriptor());
  // SHA-256("zoo.Tree") begins with these bytes: `printf zoo.Tree | sha256sum`.
  CHECK(PacketTraits<zoo::Tree>::descriptor().id.value == 0x38ac180eU);
}

TEST_CASE("bytes decode wherever in memory they begin", "[packetc]") {
  const auto packet = zoo::some_everything();
  const auto bytes = PacketTraits<zoo::Everything>::encode(packet);
  Bytes shifted(1, std::byte{});
  shifted.insert(shifted.end(), bytes.begin(), bytes.end());
  const auto view = ByteView(shifted).subspan(1);
  CHECK(PacketTraits<zoo::Everything>::descriptor().verify(view));
  CHECK(PacketTraits<zoo::Everything>::decode(view) == packet);
  const auto refused = zoo::EverythingView::of(view);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind() == ErrorKind::InvalidOperation);
}

TEST_CASE("a view reads in place what decode copies", "[packetc]") {
  const auto packet = zoo::some_everything();
  const auto bytes = PacketTraits<zoo::Everything>::encode(packet);
  const auto view = zoo::EverythingView::of(bytes);
  REQUIRE(view.has_value());
  CHECK(view->flag() == packet.flag);
  CHECK(view->small() == packet.small);
  CHECK(view->ubig() == packet.ubig);
  CHECK(view->powers() == packet.powers);
  CHECK(view->maybe_number() == packet.maybe_number);
  CHECK(view->text() == packet.text);
  CHECK(std::ranges::equal(view->blob(), packet.blob));
  CHECK(view->cage() == packet.cage);
  CHECK(view->label()->text() == "label");
  CHECK(view->tree()->left()->right()->name() == "left right");
  CHECK_FALSE(view->tree()->right().has_value());
  CHECK(view->tree()->animal_type() == zoo::AnimalType::Fish);
  CHECK(view->tree()->animal_as_Fish()->tank() == zoo::some_cage());
  CHECK_FALSE(view->tree()->animal_as_note().has_value());
  CHECK(view->animal_as_point() == zoo::common::Point{.x = 3, .y = 4});
  CHECK(std::ranges::equal(view->flags(), packet.flags));
  CHECK(std::ranges::equal(view->ubigs(), packet.ubigs));
  CHECK(std::ranges::equal(view->moods(), packet.moods));
  CHECK(std::ranges::equal(view->cages(), packet.cages));
  CHECK(view->texts()[2] == "two");
  CHECK(view->labels().size() == 2);
  CHECK(view->labels()[1].mood() == zoo::common::Mood::Angry);
  REQUIRE(view->animals_size() == 5);
  CHECK(view->animals_type(1) == zoo::AnimalType::note);
  CHECK(view->animals_as_note(1) == "a note");
  CHECK(view->animals_as_other_note(2) == "another");
  CHECK(view->animals_as_Lion(4)->roar() == 1);
}

TEST_CASE("a message carries a packet and gives it back", "[packetc]") {
  const auto message = spotmesh::Message::of(zoo::some_tree());
  CHECK(message.packet_name() == "zoo.Tree");
  CHECK(message.decode<zoo::Tree>() == zoo::some_tree());
  const auto other = message.decode<zoo::Fish>();
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().kind() == ErrorKind::ProtocolError);
}
