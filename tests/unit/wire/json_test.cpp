#include "wire/json.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.hpp"
#include "wire/text.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;
using nlohmann::json;

namespace {

struct Refusal {
  std::string text;
  std::string message;  // what the error says, or its beginning
};

std::string fault_of(std::string_view text, const JsonLimits& limits = {}) {
  const auto value = parse_json(text, limits);
  if (value) return "accepted";
  CHECK(value.error().kind() == ErrorKind::ProtocolError);
  CHECK(is_valid_utf8(value.error().message()));
  return value.error().message();
}

std::string nested(std::size_t depth, bool in_objects) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += in_objects ? "{\"a\":" : "[";
  text += "1";
  for (std::size_t i = 0; i < depth; ++i) text += in_objects ? "}" : "]";
  return text;
}

std::string as_json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

}  // namespace

TEST_CASE("JSON is read to the value it stands for") {
  const std::string text = R"( {"a":[1,-2,0.5,1e3,true,false,null,"xé€\n"],
      "b":{"c":{}},"max":18446744073709551615,"min":-9223372036854775808} )";
  const auto value = parse_json(text);
  REQUIRE(value.has_value());
  CHECK(*value == json::parse(text));
  CHECK(value->at("max").get<std::uint64_t>() == std::numeric_limits<std::uint64_t>::max());
  CHECK(value->at("min").get<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  CHECK(parse_json("[]")->is_array());
  CHECK(parse_json("7")->get<int>() == 7);
}

TEST_CASE("text that is not JSON is refused at its place") {
  const std::vector<Refusal> refusals{
      {"", "not JSON at byte 0: "},
      {"{", "not JSON at byte 1: "},
      {"{} {}", "not JSON at byte 3: "},
      {"{\"a\":1,}", "not JSON at byte 7: "},
      {"{'a':1}", "not JSON at byte 1: "},
      {"[1 2]", "not JSON at byte 3: "},
      {"[01]", "not JSON at byte 2: "},
      {"[NaN]", "not JSON at byte 1: "},
      {"[Infinity]", "not JSON at byte 1: "},
      {"[+1]", "not JSON at byte 1: "},
      {"// note\n1", "not JSON at byte 0: "},
      {"\"\\x\"", "not JSON at byte 2: "},
      {"\"\\ud800\"", "not JSON at byte 7: "},
      {"\"line\nbreak\"", "not JSON at byte 5: "},
      {"\xc3\xa9", "not JSON at byte 0: "},
      {"1e400", "not JSON at byte 4: number overflow"},
      {std::string("{}\0{}", 5), "not JSON at byte 2: a NUL byte"},
      {"\xef\xbb\xbf{}", "not JSON at byte 0: a byte order mark"},
      {"\"\xff\"", "JSON text that is not UTF-8"},
  };
  for (const Refusal& refusal : refusals) {
    INFO(refusal.text);
    CHECK_THAT(fault_of(refusal.text), Catch::StartsWith(refusal.message));
  }
}

TEST_CASE("a field that stands twice is refused by its path") {
  CHECK(fault_of(R"({"a":1,"a":1})") == "field 'a' stands twice");
  CHECK(fault_of(R"({"a":{"b":[0,{"c":1,"d":2,"c":3}]}})") == "field 'a.b[1].c' stands twice");
  CHECK(fault_of(R"([[],[{"x":1,"\u0078":2}]])") == "field '[1][0].x' stands twice");
  CHECK(parse_json(R"({"a":{"a":1},"b":{"a":2}})").has_value());
}

TEST_CASE("nesting ends at its bound") {
  for (const bool in_objects : {false, true}) {
    CHECK(parse_json(nested(32, in_objects)).has_value());
    CHECK(fault_of(nested(33, in_objects)) == "nested deeper than 32 levels");
    CHECK(fault_of(nested(200'000, in_objects)) == "nested deeper than 32 levels");
  }
}

TEST_CASE("text over its bound is refused unread") {
  CHECK(parse_json("[1234]", {.max_bytes = 6}).has_value());
  CHECK(fault_of("not even JSON", {.max_bytes = 12}) ==
        "JSON of 13 bytes is over the limit of 12 bytes");
}

TEST_CASE("damaged JSON never does more than fail") {
  std::mt19937_64 random(8259);
  const std::string sound =
      R"({"packet":"game.Move","seq":7,"payload":{"cells":[1,2,{"x":"é\u20ac"}],"f":-1.5e-3}})";
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = sound;
    for (std::size_t flips = random() % 3; flips > 0; --flips) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) text.resize(random() % text.size());
    const auto value = parse_json(text);
    accepted += value.has_value();
    if (!value) REQUIRE(is_valid_utf8(value.error().message()));
  }
  CHECK(accepted > 0);
}

TEST_CASE("any text becomes a JSON string that reads back") {
  for (const std::string& text :
       {std::string(), std::string("plain"), std::string("\"\\/\b\f\n\r\t"),
        std::string("\0\x01\x1f\x7f", 4), std::string("é€🎲")}) {
    CHECK(parse_json(as_json_string(text)) == json(text));
  }
  CHECK(as_json_string("a\"b\n\x01") == R"("a\"b\n\u0001")");
  CHECK(as_json_string("a\xff"
                       "b\xe2\x82") ==
        "\"a\xef\xbf\xbd"
        "b\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST_CASE("text in an error message is cut at a character") {
  CHECK(in_quotes("cell") == "'cell'");
  CHECK(in_quotes(std::string(64, 'x')) == "'" + std::string(64, 'x') + "'");
  CHECK(in_quotes(std::string(65, 'x')) == "'" + std::string(64, 'x') + "…'");
  CHECK(cut_at_character("ab€", 4) == "ab");
  CHECK(cut_at_character("ab€", 5) == "ab€");
}
