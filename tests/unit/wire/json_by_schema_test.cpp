#include "wire/json_by_schema.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <spotmesh/limits.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unit/packetc/zoo/values.hpp"
#include "zoo.packets.hpp"

namespace {

using spotmesh::Bytes;
using spotmesh::ErrorKind;
using spotmesh::PacketTraits;
using namespace spotmesh::wire;
using nlohmann::json;

class Zoo {
 public:
  Zoo() { catalog_.add(zoo::packets()); }
  const CatalogPacket& packet(std::string_view name) const {
    const auto* found = catalog_.find(name);
    REQUIRE(found != nullptr);
    return *found;
  }
  template <typename T>
  const CatalogPacket& packet() const {
    return packet(PacketTraits<T>::descriptor().name);
  }
  template <typename T>
  std::string to_json(const T& value) const {
    const auto text = packet_to_json(packet<T>(), PacketTraits<T>::encode(value));
    REQUIRE(text.has_value());
    return *text;
  }
  template <typename T>
  T from_json(std::string_view text) const {
    const auto bytes = json_text_to_packet(packet<T>(), text);
    if (!bytes) FAIL(bytes.error().message());
    return PacketTraits<T>::decode(*bytes).value();
  }
  template <typename T>
  std::string fault(std::string_view text) const {
    const auto bytes = json_text_to_packet(packet<T>(), text);
    if (bytes) return "accepted";
    CHECK(bytes.error().kind() == ErrorKind::ProtocolError);
    return bytes.error().message();
  }

 private:
  PacketCatalog catalog_;
};

std::string as_hex(const Bytes& bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const auto octet : bytes) {
    text += digits[std::to_integer<unsigned>(octet) >> 4];
    text += digits[std::to_integer<unsigned>(octet) & 15];
  }
  return text;
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t index = 0; index < text.size(); index += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(text.substr(index, 2), nullptr, 16)));
  }
  return bytes;
}

// Bytes that generated code made become JSON and the very same bytes again.
template <typename T>
void check_both_ways(const Zoo& zoo, const T& value) {
  const auto bytes = PacketTraits<T>::encode(value);
  const auto text = packet_to_json(zoo.packet<T>(), bytes);
  if (!text) FAIL(text.error().message());
  const auto again = json_text_to_packet(zoo.packet<T>(), *text);
  if (!again) FAIL(again.error().message() << " in " << *text);
  REQUIRE(*again == bytes);
}

// The text, and the fault it is refused with.
using Refusals = std::vector<std::pair<std::string, std::string>>;

const Refusals scalar_refusals = {
    {"[]", "payload must be an object"},
    {"7", "payload must be an object"},
    {R"({"flag":1})", "payload.flag must be true or false, not 1"},
    {R"({"flag":"true"})", "payload.flag must be true or false, not 'true'"},
    {R"({"small":128})", "payload.small must be a whole number from -128 to 127, not 128"},
    {R"({"small":-129})", "payload.small must be a whole number from -128 to 127, not -129"},
    {R"({"octet":-1})", "payload.octet must be a whole number from 0 to 255, not -1"},
    {R"({"octet":256})", "payload.octet must be a whole number from 0 to 255, not 256"},
    {R"({"word":32768})", "payload.word must be a whole number from -32768 to 32767, not 32768"},
    {R"({"uword":65536})", "payload.uword must be a whole number from 0 to 65535, not 65536"},
    {R"({"number":2147483648})",
     "payload.number must be a whole number from -2147483648 to 2147483647, not 2147483648"},
    {R"({"number":18446744073709551615})",
     "payload.number must be a whole number from -2147483648 to 2147483647, not "
     "18446744073709551615"},
    {R"({"unumber":4294967296})",
     "payload.unumber must be a whole number from 0 to 4294967295, not 4294967296"},
    {R"({"number":1.5})",
     "payload.number must be a whole number from -2147483648 to 2147483647, not 1.5"},
    {R"({"number":1.0})",
     "payload.number must be a whole number from -2147483648 to 2147483647, not 1.0"},
    {R"({"number":"1"})",
     "payload.number must be a whole number from -2147483648 to 2147483647, not '1'"},
    {R"({"big":1})",
     "payload.big must be a string of decimal digits from -9223372036854775808 to "
     "9223372036854775807, not 1"},
    {R"({"big":"9223372036854775808"})",
     "payload.big must be a string of decimal digits from -9223372036854775808 to "
     "9223372036854775807, not '9223372036854775808'"},
    {R"({"ubig":"-1"})",
     "payload.ubig must be a string of decimal digits from 0 to 18446744073709551615, not '-1'"},
    {R"({"ubig":"18446744073709551616"})",
     "payload.ubig must be a string of decimal digits from 0 to 18446744073709551615, not "
     "'18446744073709551616'"},
    {R"({"real":1e39})",
     "payload.real must be a number that fits 32-bit floating point, not 1e+39"},
    {R"({"precise":"1"})", "payload.precise must be a number, not '1'"},
    {R"({"precise":"NaN"})", "payload.precise must be a number, not 'NaN'"},
    {R"({"mood":1})", "payload.mood must be a name of zoo.common.Mood, not 1"},
    {R"({"mood":"Sad"})", "payload.mood must be a name of zoo.common.Mood, not 'Sad'"},
    {R"({"powers":1})",
     "payload.powers must be a string of names of zoo.common.Power with a space between, not 1"},
    {R"({"powers":"Fly Run"})", "payload.powers has 'Run', which is no name of zoo.common.Power"},
    {R"({"powers":"Fly "})", "payload.powers has '', which is no name of zoo.common.Power"},
};

const Refusals field_refusals = {
    {R"({"text":1})", "payload.text must be a string"},
    {R"({"blob":"Zg"})", "payload.blob must be base64 with padding and nothing else"},
    {R"({"blob":[1]})", "payload.blob must be a string of base64"},
    {R"({"place":[1,2]})", "payload.place must be an object"},
    {R"({"place":{"z":1}})",
     "payload.place has the unknown field 'z'; zoo.common.Point has no such "
     "field"},
    {R"({"cage":{"corners":[{},{},{}]}})",
     "payload.cage.corners must be an array of exactly 4 elements"},
    {R"({"cage":{"corners":[{},{},{},{"x":32768}]}})",
     "payload.cage.corners[3].x must be a whole number from -32768 to 32767, not 32768"},
    {R"({"cage":{"lock":"Zm9vYg=="}})", "payload.cage.lock must be base64 of exactly 3 bytes"},
    {R"({"cage":{"open":null}})", "payload.cage.open must be true or false, not null"},
    {R"({"label":{}})", "payload.label.text is required and missing"},
    {R"({"label":{"text":null}})", "payload.label.text must be a string"},
    {R"({"numbers":[1,2,true]})",
     "payload.numbers[2] must be a whole number from -2147483648 to 2147483647, not true"},
    {R"({"numbers":{}})", "payload.numbers must be an array"},
    {R"({"texts":["a",1]})", "payload.texts[1] must be a string"},
    {R"({"labels":[{"text":"a"},{"text":"b","mood":""}]})",
     "payload.labels[1].mood must be a name of zoo.common.Mood, not ''"},
    {R"({"tree":{"children":[{},{"left":{"nam":""}}]}})",
     "payload.tree.children[1].left has the unknown field 'nam'; zoo.Tree has no such field"},
    {R"({"gone":1})", "payload has the unknown field 'gone'; zoo.Everything has no such field"},
};

const Refusals union_refusals = {
    {R"({"animal_type":"Lion"})",
     "payload has the unknown field 'animal_type'; zoo.Everything has no such field"},
    {R"({"animal":"Lion"})", "payload.animal must be an object with the fields type and value"},
    {R"({"animal":{"type":"Lion"}})",
     "payload.animal must have the fields type and value and no other"},
    {R"({"animal":{"type":"Lion","value":{},"x":1}})",
     "payload.animal must have the fields type and value and no other"},
    {R"({"animal":{"type":"Cat","value":{}}})",
     "payload.animal.type must name an alternative of zoo.Animal"},
    {R"({"animal":{"type":"NONE","value":null}})",
     "payload.animal.type must name an alternative of zoo.Animal"},
    {R"({"animal":{"type":1,"value":{}}})",
     "payload.animal.type must name an alternative of zoo.Animal"},
    {R"({"animal":{"type":"Lion","value":null}})", "payload.animal.value must be an object"},
    {R"({"animal":{"type":"note","value":{}}})", "payload.animal.value must be a string"},
    {R"({"animal":{"type":"point","value":{"x":"1"}}})",
     "payload.animal.value.x must be a whole number from -32768 to 32767, not '1'"},
    {R"({"animals":[null]})",
     "payload.animals[0] must be an object with the fields type and value"},
    {R"({"animals":[{"type":"note","value":""},{"type":"Fish","value":{}}]})",
     "payload.animals[1].value.name is required and missing"},
};

}  // namespace

TEST_CASE("packets as JSON have every field in the schema's order") {
  const Zoo zoo;
  CHECK(zoo.to_json(zoo::Empty{}) == "{}");
  CHECK(zoo.to_json(zoo::Lion{}) == R"({"roar":0,"den":null})");
  CHECK(zoo.to_json(zoo::Tree{.name = "é\n\"🎲"}) ==
        R"({"name":"é\n\"🎲","left":null,"right":null,"children":[],"animal":null})");
  CHECK(zoo.to_json(zoo::common::Label{.text = "t"}) == R"({"text":"t","mood":"Glad"})");
  CHECK(zoo.to_json(zoo::class_{}) == R"({"int":0,"while":"","namespace":[],"Size":"Small"})");
  zoo::Tree tree;
  tree.animal = zoo::Animal(std::in_place_index<5>, "n");
  CHECK(json::parse(zoo.to_json(tree))["animal"] ==
        json::parse(R"({"type":"other_note","value":"n"})"));
}

TEST_CASE("omitted fields take the schema's default") {
  const Zoo zoo;
  CHECK(zoo.from_json<zoo::Everything>("{}") == zoo::Everything{});
  const auto text = json::parse(zoo.to_json(zoo::Everything{}));
  CHECK(text["big"] == "-9223372036854775808");
  CHECK(text["ubig"] == "18446744073709551615");
  CHECK(text["size"] == "Huge");
  CHECK(text["powers"] == "Fly Dig");
  CHECK(text["real"] == 1.5);
  CHECK(text["maybe_big"].is_null());
  CHECK(text["blob"] == "");
  CHECK(text["cage"].is_null());
  CHECK_FALSE(text.contains("gone"));
  // What is said in full is the same packet.
  CHECK(zoo.from_json<zoo::Everything>(text.dump()) == zoo::Everything{});
  // In a struct the default is 0.
  zoo::Everything with_cage;
  with_cage.cage = zoo::Cage{};
  CHECK(zoo.from_json<zoo::Everything>(R"({"cage":{}})") == with_cage);
}

TEST_CASE("every kind of field survives the way to JSON and back") {
  const Zoo zoo;
  check_both_ways(zoo, zoo::some_everything());
  check_both_ways(zoo, zoo::some_required());
  check_both_ways(zoo, zoo::back::Visit{.visitor = zoo::some_everything()});
  check_both_ways(zoo,
                  zoo::Holder{.detail = zoo::Detail{.value = 1}, .details = {{}, {.value = 2}}});
}

TEST_CASE("random packets survive the way to JSON and back, byte by byte") {
  const Zoo zoo;
  std::mt19937_64 random(3);
  for (int round = 0; round < 400; ++round) {
    check_both_ways(zoo, zoo::random_everything(random));
    check_both_ways(zoo, zoo::random_required(random));
    check_both_ways(zoo, zoo::random_tree(random, 3));
  }
}

TEST_CASE("null stands for what may be absent, and for nothing else") {
  const Zoo zoo;
  CHECK(zoo.from_json<zoo::Everything>(
            R"({"maybe_number":null,"place":null,"label":null,"tree":null,"animal":null})") ==
        zoo::Everything{});
  CHECK(zoo.fault<zoo::Everything>(R"({"number":null})") ==
        "payload.number must be a whole number from -2147483648 to 2147483647, not null");
  CHECK(zoo.fault<zoo::Everything>(R"({"text":null})") == "payload.text must be a string");
  CHECK(zoo.fault<zoo::Everything>(R"({"numbers":null})") == "payload.numbers must be an array");
  CHECK(zoo.fault<zoo::Everything>(R"({"labels":[null]})") ==
        "payload.labels[0] must be an object");
}

TEST_CASE("JSON that does not fit the schema is refused at its place") {
  const Zoo zoo;
  for (const auto* refusals : {&scalar_refusals, &field_refusals, &union_refusals}) {
    for (const auto& [text, message] : *refusals) {
      CAPTURE(text);
      CHECK(zoo.fault<zoo::Everything>(text) == message);
    }
  }
  CHECK(
      zoo.fault<zoo::Required>(R"({"text":"","blob":"","numbers":[],"place":{},"label":{"text":""},
            "labels":[]})") == "payload.animal is required and missing");
}

TEST_CASE("each number of 64 bits has one text") {
  const Zoo zoo;
  for (const auto* text :
       {"", "-", "+1", "01", "-01", "-0", "00", " 1", "1 ", "1.0", "1e3", "0x10", "one", "1_000"}) {
    CAPTURE(text);
    CHECK_THAT(zoo.fault<zoo::Everything>(R"({"bigs":[")" + std::string(text) + "\"]}"),
               Catch::StartsWith("payload.bigs[0] must be a string of decimal digits"));
  }
  CHECK(zoo.from_json<zoo::Everything>(R"({"bigs":["0","-1","10"]})").bigs ==
        std::vector<std::int64_t>{0, -1, 10});
}

TEST_CASE("reals take any JSON number and keep it") {
  const Zoo zoo;
  const auto packet =
      zoo.from_json<zoo::Everything>(R"({"precises":[1,-2,0.1,1e300,-0.0,5e-324]})");
  CHECK(packet.precises == std::vector<double>{1, -2, 0.1, 1e300, -0.0, 5e-324});
  CHECK(std::signbit(packet.precises[4]));
  check_both_ways(zoo, packet);
}

TEST_CASE("text that is no strict JSON is refused") {
  const Zoo zoo;
  CHECK(zoo.fault<zoo::Everything>(R"({"number":1,"number":2})") == "field 'number' stands twice");
  CHECK_THAT(zoo.fault<zoo::Everything>(R"({"precise":NaN})"), Catch::StartsWith("not JSON"));
  CHECK_THAT(zoo.fault<zoo::Everything>(R"({"precise":1e999})"), Catch::StartsWith("not JSON"));
  CHECK_THAT(zoo.fault<zoo::Everything>("{\"text\":\"\xff\"}"), Catch::Contains("UTF-8"));
  std::string deep;
  for (int level = 0; level < 32; ++level) deep += R"({"left":)";
  CHECK_THAT(zoo.fault<zoo::Tree>(deep + "{}" + std::string(32, '}')),
             Catch::Contains("nested deeper than 32"));
}

TEST_CASE("JSON of more tables than a packet may have is refused") {
  const Zoo zoo;
  std::string text = R"({"children":[{})";
  for (std::size_t count = 1; count < spotmesh::limits::packet_tables; ++count) text += ",{}";
  CHECK(zoo.fault<zoo::Tree>(text + "]}") ==
        "payload.children[65535] is one table more than the 65536 that a packet may have");
}

TEST_CASE("JSON of large structs in few characters is refused before they take memory") {
  const Zoo zoo;
  const auto structs = [](std::size_t count) {
    std::string text = "{}";
    for (std::size_t i = 1; i < count; ++i) text += ",{}";
    return R"({"cages":[)" + text + "]}";
  };
  const auto fitting =
      spotmesh::limits::message_bytes / spotmesh::codec::StructCodec<zoo::Cage>::size;
  // Room for the table around them.
  CHECK(zoo.from_json<zoo::Everything>(structs(fitting - 4)).cages.size() == fitting - 4);
  CHECK(zoo.fault<zoo::Everything>(structs(fitting + 1)) ==
        "payload.cages makes the packet larger than 4194304 bytes");
}

TEST_CASE("what JSON cannot say is refused with its place") {
  const Zoo zoo;
  const auto refusal = [&](const zoo::Everything& packet) {
    const auto text = packet_to_json(zoo.packet<zoo::Everything>(),
                                     PacketTraits<zoo::Everything>::encode(packet));
    if (text) return std::string("accepted");
    CHECK(text.error().kind() == ErrorKind::InvalidOperation);
    return text.error().message();
  };
  zoo::Everything packet;
  packet.precises = {0, std::numeric_limits<double>::quiet_NaN()};
  CHECK(refusal(packet) == "payload.precises[1] is NaN, which JSON cannot say");
  packet = {};
  packet.real = -std::numeric_limits<float>::infinity();
  CHECK(refusal(packet) == "payload.real is infinite, which JSON cannot say");
  packet = {};
  packet.mood = zoo::common::Mood{9};
  CHECK(refusal(packet) == "payload.mood is 9, which zoo.common.Mood does not name");
  packet = {};
  packet.powers = zoo::common::Power{64};
  CHECK(refusal(packet) == "payload.powers is 64, which zoo.common.Power does not name");
}

TEST_CASE("JSON longer than its limit is refused") {
  const Zoo zoo;
  const zoo::Tree tree{.name = std::string(1000, 'x')};
  const auto bytes = PacketTraits<zoo::Tree>::encode(tree);
  CHECK(packet_to_json(zoo.packet<zoo::Tree>(), bytes, 2000).has_value());
  const auto refused = packet_to_json(zoo.packet<zoo::Tree>(), bytes, 1000);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind() == ErrorKind::CapacityExceeded);
}

TEST_CASE("JSON longer than its limit is given up while it grows") {
  const Zoo zoo;
  zoo::Everything packet;
  packet.moods.resize(1000);
  const auto refused = packet_to_json(zoo.packet<zoo::Everything>(),
                                      PacketTraits<zoo::Everything>::encode(packet), 2000);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind() == ErrorKind::CapacityExceeded);
  CHECK(refused.error().message() == "as JSON the packet is longer than 2000 bytes");
}

TEST_CASE("unsound bytes never become JSON") {
  const Zoo zoo;
  const auto& packet = zoo.packet<zoo::Everything>();
  const auto bytes = PacketTraits<zoo::Everything>::encode(zoo::some_everything());
  std::mt19937_64 random(4);
  for (int round = 0; round < 3000; ++round) {
    auto damaged = bytes;
    for (int flips = 0; flips < 3; ++flips) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    }
    if (round % 3 == 0) damaged.resize(random() % damaged.size());
    const auto text = packet_to_json(packet, damaged);
    if (text) {
      REQUIRE(json::accept(*text));
      REQUIRE(json_text_to_packet(packet, *text).has_value());
    } else if (!packet.descriptor->verify(damaged)) {
      REQUIRE(text.error().kind() == ErrorKind::ProtocolError);
      REQUIRE(text.error().message() == "the bytes are not a sound zoo.Everything packet");
    } else {
      REQUIRE(text.error().kind() == ErrorKind::InvalidOperation);
    }
  }
}

TEST_CASE("ids and bytes of packets stay what they were") {
  const Zoo zoo;
  std::ifstream stream(PACKET_VECTORS);
  const auto vectors = json::parse(stream);
  REQUIRE(vectors.size() >= 8);
  for (const auto& vector : vectors) {
    const auto name = vector.at("packet").get<std::string>();
    CAPTURE(name);
    const auto& packet = zoo.packet(name);
    CHECK(packet.descriptor->id.value ==
          std::stoul(vector.at("id").get<std::string>(), nullptr, 16));
    const auto text = vector.at("json").dump();
    const auto bytes = json_text_to_packet(packet, text);
    REQUIRE(bytes.has_value());
    CHECK(as_hex(*bytes) == vector.at("hex").get<std::string>());
    const auto again = packet_to_json(packet, from_hex(vector.at("hex").get<std::string>()));
    REQUIRE(again.has_value());
    CHECK(json::parse(*again) == vector.at("json"));
  }
}
