// The vectors of STREAM's binary form say what the code does, and STREAM.md shows the tables that
// are compiled.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "websocket_test_frames.hpp"
#include "wire/length_prefix.hpp"
#include "wire/packet_catalog.hpp"
#include "wire/schema_prints.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_handshake.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;
using nlohmann::json;
using spotmesh::wire::test::hex;

namespace {

std::string read_schema_file(const std::string& name) {
  std::ifstream file(SPOTMESH_SCHEMAS_DIR "/" + name);
  REQUIRE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

json vectors(const char* list) {
  static const json all = json::parse(read_schema_file("vectors/stream_binary.json"));
  return all.at(list);
}

std::string in_hex(ByteView bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte each : bytes) {
    text += digits[std::to_integer<std::size_t>(each) >> 4];
    text += digits[std::to_integer<std::size_t>(each) & 15];
  }
  return text;
}

constexpr std::string_view kind_names[] = {"",        "Hello", "Welcome", "OneWay",
                                           "Request", "Push",  "Reply",   "ErrorReply",
                                           "Ping",    "Pong",  "Close"};

json reading_of(const Result<BinaryFrame>& frame) {
  if (!frame) return {{"refused", frame.error().message()}};
  return {{"kind", kind_names[static_cast<std::size_t>(frame->kind)]},
          {"code", frame->code},
          {"packet", frame->packet.value},
          {"seq", frame->seq.value},
          {"body", in_hex(frame->body)}};
}

json reading_of(const Result<StreamHello>& hello) {
  if (!hello) return {{"refused", hello.error().message()}};
  json types = json::array();
  for (const TypePrint& type : hello->types) {
    types.push_back({{"name", type.name}, {"lines", type.lines}});
  }
  return {{"version", hello->version},
          {"message_bytes", hello->message_bytes},
          {"types", types},
          {"resume", in_hex(hello->resume)}};
}

json reading_of(const Result<StreamWelcome>& welcome) {
  if (!welcome) return {{"refused", welcome.error().message()}};
  return {{"version", welcome->version},
          {"session", welcome->session},
          {"message_bytes", welcome->message_bytes},
          {"requests_in_flight", welcome->requests_in_flight},
          {"request_timeout_ms", welcome->request_timeout_ms},
          {"heartbeat_ms", welcome->heartbeat_ms},
          {"resumed", welcome->is_resumed},
          {"resume", in_hex(welcome->resume)}};
}

}  // namespace

TEST_CASE("every binary frame of the vectors is read and written as it says") {
  CHECK(vectors("frames").size() > 30);
  for (json vector : vectors("frames")) {
    INFO(vector.dump());
    const Bytes bytes = hex(vector.at("bytes").get<std::string>());
    const auto sender = vector.at("from") == "client" ? BinarySender::Client : BinarySender::Server;
    const auto carrier = vector.at("over") == "tcp" ? BinaryCarrier::Tcp : BinaryCarrier::WebSocket;
    const auto frame = parse_binary_frame(bytes, sender, carrier);
    for (const char* given : {"bytes", "from", "over"}) vector.erase(given);
    CHECK(reading_of(frame) == vector);
    if (!frame) continue;
    Bytes again;
    append_binary_frame(again, *frame);
    CHECK(again == bytes);
  }
}

TEST_CASE("every Hello and Welcome of the vectors, which another library wrote, is read") {
  for (const json& vector : vectors("handshakes")) {
    INFO(vector.dump());
    const Bytes body = hex(vector.at("body").get<std::string>());
    const json reading = vector.at("name") == "Hello" ? reading_of(read_stream_hello(body))
                                                      : reading_of(read_stream_welcome(body));
    CHECK(reading == (vector.contains("refused") ? json{{"refused", vector.at("refused")}}
                                                 : vector.at("values")));
  }
}

TEST_CASE("every connection over TCP of the vectors comes apart as it says") {
  using Kind = LengthPrefixDecoder::Event::Kind;
  for (const json& vector : vectors("tcp")) {
    INFO(vector.dump());
    const Bytes bytes = hex(vector.at("bytes").get<std::string>());
    LengthPrefixDecoder decoder(
        {.min_frame_bytes = binary_header_bytes, .max_frame_bytes = 65'536});
    json frames = json::array();
    std::string refused;
    ByteView input = bytes;
    for (auto event = decoder.next(input); event.kind != Kind::NeedMoreBytes;
         event = decoder.next(input)) {
      if (event.kind == Kind::Frame) frames.push_back(in_hex(event.frame));
      if (event.kind == Kind::Failed) refused = event.close.reason;
    }
    CHECK(refused == vector.value("refused", ""));
    CHECK(frames == vector.value("frames", json::array()));
  }
}

TEST_CASE("the hashes of lines in the vectors are ours") {
  for (const json& vector : vectors("lines")) {
    CHECK(line_hash(vector.at("text").get<std::string>()) == vector.at("hash"));
  }
}

TEST_CASE("the protocol page shows Hello and Welcome as they are compiled") {
  const std::string page = read_schema_file("STREAM.md");
  std::istringstream schema(read_schema_file("stream_handshake.fbs"));
  bool is_in_table = false;
  int lines = 0;
  for (std::string line; std::getline(schema, line);) {
    is_in_table = is_in_table || line.starts_with("table ");
    if (!is_in_table || line.empty()) continue;
    // Up to the comment.
    line.resize(std::min(line.size(), line.find_last_of(";{}") + 1));
    if (const auto comment = line.find("//"); comment != line.npos) {
      line.resize(line.find_last_of(';', comment) + 1);
    }
    INFO(line);
    CHECK(page.find("\n" + line + "\n") != page.npos);
    ++lines;
  }
  CHECK(lines > 15);
}

TEST_CASE("the bytes that the protocol page shows are those of a connection over TCP") {
  const std::string page = read_schema_file("STREAM.md");
  const auto begin = page.find("\n20 00 00 00 ");
  REQUIRE(begin != page.npos);
  std::istringstream lines(page.substr(begin + 1, page.find("```", begin) - begin - 1));
  std::string shown;
  for (std::string line; std::getline(lines, line);) shown += line.substr(0, line.find("  ")) + " ";
  const Bytes bytes = hex(shown);
  LengthPrefixDecoder decoder({});
  ByteView input = bytes;
  const auto event = decoder.next(input);
  REQUIRE(event.kind == LengthPrefixDecoder::Event::Kind::Frame);
  CHECK(input.empty());
  const auto frame = parse_binary_frame(event.frame, BinarySender::Client, BinaryCarrier::Tcp);
  REQUIRE(frame.has_value());
  const auto hello = read_stream_hello(frame->body);
  REQUIRE(hello.has_value());
  CHECK(hello->version == 1);
  CHECK(hello->types.empty());
}
