// schemas/STREAM.md and its vectors say what the code does.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include <spotmesh/error.hpp>

#include "wire/close_codes.hpp"
#include "wire/stream_json.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;
using nlohmann::json;

namespace {

std::string read_schema_file(const std::string& name) {
  std::ifstream file(SPOTMESH_SCHEMAS_DIR "/" + name);
  REQUIRE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What a reader makes of a message, in the words of a vector.
json reading_of(const ClientPacket& message) {
  json reading{{"form", message.seq.is_one_way() ? "one-way packet" : "request"},
               {"packet", message.packet},
               {"payload", message.payload}};
  if (!message.seq.is_one_way()) reading["seq"] = message.seq.value;
  return reading;
}

json reading_of(const ServerPush& push) {
  return {{"form", "push"}, {"packet", push.packet}, {"payload", push.payload}};
}

json reading_of(const ServerReply& reply) {
  return {{"form", "reply"},
          {"packet", reply.packet},
          {"payload", reply.payload},
          {"seq", reply.reply_to.value}};
}

json reading_of(const ServerErrorReply& reply) {
  return {{"form", "error reply"},
          {"seq", reply.reply_to.value},
          {"code", static_cast<unsigned>(reply.error.kind())},
          {"message", reply.error.message()}};
}

json reading_of(const ServerMessage& message) {
  return std::visit([](const auto& form) { return reading_of(form); }, message);
}

template <typename Message>
json reading_of(const Result<Message>& message) {
  if (!message) return {{"refused", message.error().message()}};
  return reading_of(*message);
}

}  // namespace

TEST_CASE("every vector of the JSON subprotocol is read as it says") {
  const json vectors = json::parse(read_schema_file("vectors/stream_json.json"));
  CHECK(vectors.size() > 20);
  for (const json& vector : vectors) {
    const auto text = vector.at("text").get<std::string>();
    INFO(text);
    json reading = vector.at("from") == "client" ? reading_of(parse_client_message(text))
                                                 : reading_of(parse_server_message(text));
    reading["from"] = vector.at("from");
    reading["text"] = text;
    CHECK(reading == vector);
  }
}

TEST_CASE("the protocol page lists every close code and error kind by number and name") {
  const std::string page = read_schema_file("STREAM.md");
  int close_codes = 0;
  for (unsigned number = 1000; number < 5000; ++number) {
    const auto code = static_cast<CloseCode>(number);
    const std::string row = "| " + std::to_string(number) + " | ";
    INFO(number);
    if (to_string(code) == "unknown" || code == CloseCode::NoStatus) {
      CHECK(page.find(row) == page.npos);
    } else {
      CHECK(page.find(row + std::string(to_string(code)) + " |") != page.npos);
      ++close_codes;
    }
  }
  CHECK(close_codes == 16);
  for (unsigned code = 0; code < error_kind_count; ++code) {
    const std::string kind(to_string(static_cast<ErrorKind>(code)));
    CHECK(page.find("| " + std::to_string(code) + " | `" + kind + "` |") != page.npos);
  }
}
