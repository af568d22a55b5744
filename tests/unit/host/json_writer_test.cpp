#include "host/json_writer.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

using spotmesh::host::JsonWriter;

TEST_CASE("what is written is the JSON that was meant") {
  JsonWriter json;
  json.begin_object();
  json.field("text", "x");
  json.field("number", std::uint64_t{7});
  json.field("below", std::int64_t{-7});
  json.field("yes", true);
  json.exact_field("exact", std::numeric_limits<std::uint64_t>::max());
  json.null_field("none");
  json.begin_array("list");
  json.text("a");
  json.begin_object();
  json.end_object();
  json.begin_object();
  json.field("no", false);
  json.end_object();
  json.end_array();
  json.begin_array("empty");
  json.end_array();
  json.begin_object("inner");
  json.field("x", 1);
  json.end_object();
  json.field("last", 2U);
  json.end_object();
  CHECK(json.take() ==
        "{\"text\":\"x\",\"number\":7,\"below\":-7,\"yes\":true,"
        "\"exact\":\"18446744073709551615\",\"none\":null,\"list\":[\"a\",{},{\"no\":false}],"
        "\"empty\":[],\"inner\":{\"x\":1},\"last\":2}\n");
}

TEST_CASE("any text survives, and none steers the terminal that shows it") {
  for (const std::string text :
       {"plain", "\"quoted\" \\ back", "line\nbreak\r\t\x01\x7f", "한글 العربية 😀",
        "\xE2\x80\xAE reversed \xE2\x80\xA8", "\x1b[31mred", "</script>"}) {
    JsonWriter json;
    json.begin_object();
    json.field("text", text);
    json.end_object();
    const std::string written = json.take();
    CAPTURE(written);
    CHECK(nlohmann::json::parse(written).at("text") == text);
    CHECK(written.find('\n') == written.size() - 1);
    CHECK(written.find('\x1b') == std::string::npos);
    CHECK(written.find("\xE2\x80\xAE") == std::string::npos);
  }
}
