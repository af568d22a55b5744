#include "wire/stream_json.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/utf8.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;
using nlohmann::json;

namespace {

struct Refusal {
  std::string text;
  std::string message;
};

constexpr std::string_view seq_range = "must be a whole number from 1 to 4294967295";

template <typename Parse>
void check_refusals(Parse parse, const std::vector<Refusal>& refusals) {
  for (const Refusal& refusal : refusals) {
    INFO(refusal.text);
    const auto message = parse(refusal.text);
    REQUIRE_FALSE(message.has_value());
    CHECK(message.error() == Error::protocol_error(refusal.message));
  }
}

std::string field_message(std::string_view field, std::string_view rule) {
  return "field '" + std::string(field) + "' " + std::string(rule);
}

}  // namespace

TEST_CASE("a client's packet is read with or without seq and payload, in any field order") {
  auto request = parse_client_message(
      R"({"packet": "tictactoe.PlaceMark", "seq": 7, "payload": {"cell": 4}})");
  REQUIRE(request.has_value());
  CHECK(request->packet == "tictactoe.PlaceMark");
  CHECK(request->seq == RequestSeq{7});
  CHECK(request->payload == json{{"cell", 4}});

  auto reordered = parse_client_message(R"({"payload":{},"seq":4294967295,"packet":"a.B"})");
  REQUIRE(reordered.has_value());
  CHECK(reordered->seq == RequestSeq{4294967295});

  auto one_way = parse_client_message(R"({"packet":"a.B"})");
  REQUIRE(one_way.has_value());
  CHECK(one_way->seq.is_one_way());
  CHECK(one_way->payload == json::object());
}

TEST_CASE("a client's message of a wrong shape is refused with its fault") {
  check_refusals(
      [](std::string_view text) { return parse_client_message(text); },
      {
          {"[]", "a message must be a JSON object, not array"},
          {"7", "a message must be a JSON object, not number"},
          {"{}", "field 'packet' is missing"},
          {R"({"packet":7})", "field 'packet' must be a string"},
          {R"({"packet":"a\u0000"})",
           "field 'packet' must be a name of letters, digits, '_' and '.'"},
          {R"({"packet":"\ufeffa.B"})",
           "field 'packet' must be a name of letters, digits, '_' and '.'"},
          {R"({"packet":"a b"})", "field 'packet' must be a name of letters, digits, '_' and '.'"},
          {R"({"packet":""})", "field 'packet' must have 1 to 255 bytes, it has 0"},
          {R"({"packet":")" + std::string(256, 'x') + R"("})",
           "field 'packet' must have 1 to 255 bytes, it has 256"},
          {R"({"packet":"a","seq":0})", field_message("seq", seq_range)},
          {R"({"packet":"a","seq":-1})", field_message("seq", seq_range)},
          {R"({"packet":"a","seq":4294967296})", field_message("seq", seq_range)},
          {R"({"packet":"a","seq":1.0})", field_message("seq", seq_range)},
          {R"({"packet":"a","seq":"1"})", field_message("seq", seq_range)},
          {R"({"packet":"a","seq":null})", field_message("seq", seq_range)},
          {R"({"packet":"a","payload":null})", "field 'payload' must be an object"},
          {R"({"packet":"a","payload":[]})", "field 'payload' must be an object"},
          {R"({"packet":"a","packet":"b"})", "field 'packet' stands twice"},
          {R"({"packet":"a","payload":{"cell":1,"cell":2}})", "field 'payload.cell' stands twice"},
          {R"({"packet":"a","Seq":1})",
           "unknown field 'Seq' in a message; known: packet seq payload"},
          {R"({"packet":"a","reply_to":1})",
           "unknown field 'reply_to' in a message; known: packet seq payload"},
      });
}

TEST_CASE("the limits of JSON hold for messages") {
  const std::string text = R"({"packet":"a","payload":{"b":[1]}})";
  CHECK(parse_client_message(text, {.max_depth = 3}).has_value());
  CHECK(parse_client_message(text, {.max_depth = 2}).error() ==
        Error::protocol_error("nested deeper than 2 levels"));
  CHECK_FALSE(parse_client_message(text, {.max_bytes = text.size() - 1}).has_value());
}

TEST_CASE("what one end writes the other reads") {
  auto request = parse_client_message(write_request({7}, "a.B", R"({"x":1})"));
  REQUIRE(request.has_value());
  CHECK(request->packet == "a.B");
  CHECK(request->seq == RequestSeq{7});
  CHECK(request->payload == json{{"x", 1}});

  auto one_way = parse_client_message(write_packet("a.B", "{}"));
  REQUIRE(one_way.has_value());
  CHECK(one_way->seq.is_one_way());

  auto push = parse_server_message(write_packet("a.Notify", R"({"x":2})"));
  REQUIRE(push.has_value());
  REQUIRE(std::holds_alternative<ServerPush>(*push));
  CHECK(std::get<ServerPush>(*push).packet == "a.Notify");
  CHECK(std::get<ServerPush>(*push).payload == json{{"x", 2}});

  auto reply = parse_server_message(write_reply({9}, "a.Result", R"({"x":3})"));
  REQUIRE(reply.has_value());
  REQUIRE(std::holds_alternative<ServerReply>(*reply));
  CHECK(std::get<ServerReply>(*reply).reply_to == RequestSeq{9});
  CHECK(std::get<ServerReply>(*reply).packet == "a.Result");
  CHECK(std::get<ServerReply>(*reply).payload == json{{"x", 3}});
}

TEST_CASE("an error reply keeps kind and message for every kind") {
  for (unsigned code = 0; code < error_kind_count; ++code) {
    const Error error(static_cast<ErrorKind>(code), "cell 4 is \"taken\"\n");
    auto message = parse_server_message(write_error_reply({4294967295}, error));
    REQUIRE(message.has_value());
    REQUIRE(std::holds_alternative<ServerErrorReply>(*message));
    CHECK(std::get<ServerErrorReply>(*message).reply_to == RequestSeq{4294967295});
    CHECK(std::get<ServerErrorReply>(*message).error == error);
  }
}

TEST_CASE("the messages look as the protocol page shows them") {
  CHECK(write_request({7}, "tictactoe.PlaceMark", R"({"cell":4})") ==
        R"({"seq":7,"packet":"tictactoe.PlaceMark","payload":{"cell":4}})");
  CHECK(write_reply({7}, "tictactoe.PlaceMarkResult", "{}") ==
        R"({"reply_to":7,"packet":"tictactoe.PlaceMarkResult","payload":{}})");
  CHECK(write_packet("tictactoe.GameStateNotify", "{}") ==
        R"({"packet":"tictactoe.GameStateNotify","payload":{}})");
  CHECK(write_error_reply({7}, Error::invalid_operation("cell 4 is taken")) ==
        R"({"reply_to":7,"error":{"kind":"InvalidOperation","code":10,)"
        R"("message":"cell 4 is taken"}})");
}

TEST_CASE("a long or unsound error text is cut and mended in a reply") {
  auto message = parse_server_message(
      write_error_reply({1}, Error::internal_failure("\xff" + std::string(2000, 'x'))));
  REQUIRE(message.has_value());
  const std::string& text = std::get<ServerErrorReply>(*message).error.message();
  CHECK(text == "\xef\xbf\xbd" + std::string(max_error_message_bytes - 1, 'x'));
}

TEST_CASE("a server's message of a wrong shape is refused with its fault") {
  check_refusals(
      [](std::string_view text) { return parse_server_message(text); },
      {
          {"null", "a message must be a JSON object, not null"},
          {"{}", "field 'packet' is missing"},
          {R"({"reply_to":1})", "field 'packet' is missing"},
          {R"({"reply_to":0,"packet":"a"})", field_message("reply_to", seq_range)},
          {R"({"packet":"a","seq":1})",
           "unknown field 'seq' in a server's message; known: packet payload reply_to error"},
          {R"({"error":{"kind":"NotFound","code":0,"message":""}})",
           "field 'error' without field 'reply_to'"},
          {R"({"reply_to":1,"packet":"a","error":{"kind":"NotFound","code":0,"message":""}})",
           "a reply has either field 'error' or field 'packet'"},
          {R"({"reply_to":1,"error":"NotFound"})", "field 'error' must be an object"},
          {R"({"reply_to":1,"error":{"kind":"NotFound","code":0}})",
           "field 'error' must have kind, code and message"},
          {R"({"reply_to":1,"error":{"kind":"NotFound","code":"0","message":""}})",
           "in field 'error', kind and message must be strings and code a number"},
          {R"({"reply_to":1,"error":{"kind":"NotFound","code":1,"message":""}})",
           "error kind 'NotFound' does not go with code 1"},
          {R"({"reply_to":1,"error":{"kind":"Odd","code":13,"message":""}})",
           "error kind 'Odd' does not go with code 13"},
          {R"({"reply_to":1,"error":{"kind":"NotFound","code":0,"message":"","hint":1}})",
           "unknown field 'hint' in error; known: kind code message"},
      });
}
