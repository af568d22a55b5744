#include "net/upgrade.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "net/websocket_key.hpp"

using namespace spotmesh;
using namespace spotmesh::net;

namespace {

RequestHead good_request() {
  RequestHead request;
  request.method = "GET";
  request.target = "/stream";
  request.headers = {
      {"Host", "game.example"},        {"Upgrade", "websocket"},
      {"Connection", "Upgrade"},       {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
      {"Sec-WebSocket-Version", "13"}, {"Sec-WebSocket-Protocol", "spotmesh.v1.json"}};
  return request;
}

void set(RequestHead& request, std::string_view name, std::string value) {
  for (HttpHeader& header : request.headers) {
    if (header.name == name) header.value = std::move(value);
  }
}

void drop(RequestHead& request, std::string_view name) {
  std::erase_if(request.headers, [name](const HttpHeader& header) { return header.name == name; });
}

TextResponse refusal(const RequestHead& request, const stream::ListenOptions& options = {}) {
  auto judged = judge_upgrade(request, options);
  REQUIRE_FALSE(judged);
  return judged.error();
}

bool has_header(const TextResponse& response, std::string_view name, std::string_view value) {
  for (const HttpHeader& header : response.headers) {
    if (header.name == name && header.value == value) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("the key exchange answers as RFC 6455 shows it") {
  CHECK(websocket_accept("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  CHECK(websocket_accept("x3JJHMbDL1EzLkh9GBhXDw==") == "HSmrc0sMlYUkAGmm5OPpG2HaGWk=");
}

TEST_CASE("a key is 16 bytes in base64") {
  CHECK(is_websocket_key("dGhlIHNhbXBsZSBub25jZQ=="));
  CHECK(is_websocket_key("AAAAAAAAAAAAAAAAAAAAAA=="));
  CHECK(is_websocket_key("/////////////////////w=="));
  CHECK_FALSE(is_websocket_key(""));
  CHECK_FALSE(is_websocket_key("dGhlIHNhbXBsZSBub25jZQ="));
  CHECK_FALSE(is_websocket_key("dGhlIHNhbXBsZSBub25jZQAA"));
  CHECK_FALSE(is_websocket_key("dGhlIHNhbXBsZSBub25jZR=="));  // bits beyond the sixteenth byte
  CHECK_FALSE(is_websocket_key("dGhlIHNhbXBsZSBub25j\nQ=="));
  CHECK_FALSE(is_websocket_key("dGhlIHNhbXBsZSBub25jZQ==="));
}

TEST_CASE("a good opening is accepted with the response of RFC 6455") {
  const auto accepted = judge_upgrade(good_request(), {});
  REQUIRE(accepted);
  CHECK(accepted->subprotocol == "spotmesh.v1.json");
  CHECK(accepted->response ==
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
        "Sec-WebSocket-Protocol: spotmesh.v1.json\r\n\r\n");
}

TEST_CASE("names and tokens of an opening have no case, and lists may be long") {
  auto request = good_request();
  request.headers[1] = {"upgrade", "h2c, WebSocket"};
  request.headers[2] = {"CONNECTION", "keep-alive ,UPGRADE"};
  CHECK(judge_upgrade(request, {}));
}

TEST_CASE("the client's first subprotocol that is spoken here is chosen") {
  stream::ListenOptions options;
  options.subprotocols = {"spotmesh.v1.json", "spotmesh.v1.binary"};
  auto request = good_request();
  set(request, "Sec-WebSocket-Protocol", "chat, spotmesh.v1.binary,spotmesh.v1.json");
  CHECK(judge_upgrade(request, options)->subprotocol == "spotmesh.v1.binary");
  set(request, "Sec-WebSocket-Protocol", "chat");
  request.headers.push_back({"Sec-WebSocket-Protocol", "spotmesh.v1.json"});
  CHECK(judge_upgrade(request, options)->subprotocol == "spotmesh.v1.json");
}

TEST_CASE("no subprotocol in common is refused with the list of what is offered") {
  stream::ListenOptions options;
  options.subprotocols = {"spotmesh.v1.json", "spotmesh.v1.binary"};
  auto request = good_request();
  for (const auto* wanted : {"chat", "SPOTMESH.V1.JSON", ", ,"}) {
    set(request, "Sec-WebSocket-Protocol", wanted);
    const auto response = refusal(request, options);
    CHECK(response.status == 400);
    CHECK(response.text.find("spotmesh.v1.json, spotmesh.v1.binary") != std::string::npos);
  }
  drop(request, "Sec-WebSocket-Protocol");
  const auto response = refusal(request, options);
  CHECK(response.status == 400);
  CHECK(has_header(response, "Sec-WebSocket-Protocol", "spotmesh.v1.json, spotmesh.v1.binary"));
}

TEST_CASE("a plain request for the WebSocket path learns what to do") {
  auto request = good_request();
  drop(request, "Upgrade");
  const auto response = refusal(request);
  CHECK(response.status == 426);
  CHECK(has_header(response, "Upgrade", "websocket"));
  CHECK(response.text.find("spotmesh.v1.json") != std::string::npos);
}

TEST_CASE("each part of an opening that is missing or wrong is refused by name") {
  struct Case {
    const char* header;
    const char* value;  // null: dropped
    unsigned status;
    const char* named;
  };
  const Case cases[] = {
      {"Host", nullptr, 400, "Host"},
      {"Host", "", 400, "Host"},
      {"Connection", nullptr, 400, "Connection"},
      {"Connection", "keep-alive", 400, "Connection"},
      {"Connection", "Upgraded", 400, "Connection"},
      {"Upgrade", "websocket/13", 426, "WebSocket"},
      {"Sec-WebSocket-Version", nullptr, 426, "Sec-WebSocket-Version"},
      {"Sec-WebSocket-Version", "8", 426, "Sec-WebSocket-Version"},
      {"Sec-WebSocket-Version", "13, 8", 426, "Sec-WebSocket-Version"},
      {"Sec-WebSocket-Key", nullptr, 400, "Sec-WebSocket-Key"},
      {"Sec-WebSocket-Key", "short", 400, "Sec-WebSocket-Key"},
  };
  for (const Case& wrong : cases) {
    auto request = good_request();
    if (wrong.value == nullptr) {
      drop(request, wrong.header);
    } else {
      set(request, wrong.header, wrong.value);
    }
    INFO(wrong.header << ": " << (wrong.value == nullptr ? "(none)" : wrong.value));
    const auto response = refusal(request);
    CHECK(response.status == wrong.status);
    CHECK(response.text.find(wrong.named) != std::string::npos);
    if (wrong.status == 426) CHECK(has_header(response, "Sec-WebSocket-Version", "13"));
  }
}

TEST_CASE("headers that decide must not come twice") {
  for (const auto* name : {"Host", "Sec-WebSocket-Key", "Sec-WebSocket-Version"}) {
    auto request = good_request();
    request.headers.push_back({name, std::string(request.values(name)[0])});
    CHECK_FALSE(judge_upgrade(request, {}));
  }
}

TEST_CASE("other methods, old versions and bodies do not open a WebSocket") {
  auto request = good_request();
  request.method = "POST";
  CHECK(refusal(request).status == 405);
  request = good_request();
  request.version = 10;
  CHECK(refusal(request).status == 400);
  request = good_request();
  request.has_body = true;
  CHECK(refusal(request).status == 400);
}

TEST_CASE("only allowed origins connect, and what sends no origin is no page") {
  stream::ListenOptions options;
  options.allowed_origins = {"https://game.example", "http://localhost:3000"};
  auto request = good_request();
  CHECK(judge_upgrade(request, options));
  request.headers.push_back({"Origin", "HTTPS://game.example"});
  CHECK(judge_upgrade(request, options));
  for (const auto* origin : {"https://evil.example", "https://game.example.evil", "null",
                             "http://game.example", "https://game.example:444"}) {
    set(request, "Origin", origin);
    CHECK(refusal(request, options).status == 403);
  }
  CHECK(judge_upgrade(request, {}));  // none are named: any may connect
  set(request, "Origin", "https://evil.example");
  request.headers.push_back({"Origin", "https://game.example"});
  CHECK(refusal(request, options).status == 403);
}
