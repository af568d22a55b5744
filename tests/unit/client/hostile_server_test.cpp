// The client against servers that lie, fall silent or never stop.
#include <malloc.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/client/client.hpp>

#include "net/websocket_key.hpp"
#include "support/hostile_server.hpp"
#include "wire/length_prefix.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_handshake.hpp"
#include "wire/stream_json.hpp"
#include "wire/websocket.hpp"
#include "zoo.packets.hpp"

using namespace spotmesh;
using namespace spotmesh::client;
using namespace std::chrono_literals;
using testing::HostileServer;

namespace {

constexpr auto patience = 30s;

// A client and the server it has come to, in one thread.
struct Pair {
  explicit Pair(std::string_view scheme, ClientOptions options = {}) {
    options.url = std::string(scheme) + "127.0.0.1:" + std::to_string(server.port());
    options.packets = zoo::packets();
    auto opened = Client::open(options);
    REQUIRE(opened);
    client.emplace(std::move(*opened));
    client->on_end([this](const Ending& how) { ending = how; });
    REQUIRE(run_until([this] { return server.accept(); }));
  }
  bool run_until(const std::function<bool()>& is_so) {
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (!is_so()) {
      client->poll(1ms);
      if (std::chrono::steady_clock::now() > give_up) return false;
    }
    return true;
  }
  // The whole of the client's upgrade request.
  std::string request() {
    REQUIRE(run_until([this] { return server.heard().ends_with("\r\n\r\n"); }));
    return server.heard();
  }
  std::string accept_line() {
    const std::string asked = request();
    const std::string_view name = "Sec-WebSocket-Key: ";
    const std::size_t from = asked.find(name) + name.size();
    return "Sec-WebSocket-Accept: " +
           net::websocket_accept(asked.substr(from, asked.find("\r\n", from) - from)) + "\r\n";
  }
  void upgrade(std::string_view subprotocol) {
    server.say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
               accept_line() + "sec-websocket-protocol:  " + std::string(subprotocol) + "\r\n\r\n");
  }
  const Ending& ended() {
    REQUIRE(run_until([this] { return ending.has_value(); }));
    CHECK(run_until([this] { return server.is_left(); }));
    return *ending;
  }

  HostileServer server;
  std::optional<Client> client;
  std::optional<Ending> ending;
};

std::string tcp_frame(const wire::BinaryFrame& frame) {
  Bytes bytes;
  wire::append_length_prefix(
      bytes, static_cast<std::uint32_t>(wire::binary_header_bytes + frame.body.size()));
  wire::append_binary_frame(bytes, frame);
  return std::string(as_text(bytes));
}

std::string welcome() {
  const Bytes body = wire::write_stream_welcome(
      {.session = "5e55", .message_bytes = 65'536, .requests_in_flight = 256, .resume = {}});
  return tcp_frame({.kind = wire::BinaryKind::Welcome, .body = body});
}

std::string text_frame(std::string_view text, bool is_final = true) {
  Bytes bytes;
  wire::append_frame(bytes, wire::WebSocketOpcode::Text, as_bytes(text), std::nullopt, is_final);
  return std::string(as_text(bytes));
}

}  // namespace

TEST_CASE("an answer to the upgrade that is none ends the connection with what it was") {
  const auto [answer, kind, fault] = GENERATE(table<std::string, ErrorKind, std::string>({
      {"HTTP/1.1 200 OK\r\n\r\nhello", ErrorKind::Unavailable, "'HTTP/1.1 200 OK': hello"},
      {"HTTP/1.1 503 Full\r\nX: y\r\n\r\ncome later\n", ErrorKind::Unavailable, ": come later"},
      {"SSH-2.0-OpenSSH_9\r\n\r\n", ErrorKind::ProtocolError, "is no HTTP"},
      {"HTTP/1.1 101 Go\r\nSec-WebSocket-Accept: bm9uZQ==\r\n\r\n", ErrorKind::ProtocolError,
       "not one to this key"},
      {std::string(17 * 1024, 'x'), ErrorKind::ProtocolError, "does not end within 16384 bytes"},
  }));
  Pair pair("ws://");
  pair.request();
  pair.server.say(answer);
  CHECK(pair.ended().kind == kind);
  CHECK_THAT(pair.ended().reason, Catch::Contains(fault));
}

TEST_CASE("a subprotocol and an extension that were not asked for are refused") {
  const auto [lines, fault] = GENERATE(table<std::string, std::string>({
      {"Sec-WebSocket-Protocol: chess\r\n", "'chess'"},
      {"", "''"},
      {"Sec-WebSocket-Protocol: spotmesh.v1\r\nSec-WebSocket-Extensions: permessage-deflate\r\n",
       "extension"},
  }));
  Pair pair("ws://");
  pair.server.say("HTTP/1.1 101 Switching Protocols\r\n" + pair.accept_line() + lines + "\r\n");
  CHECK(pair.ended().kind == ErrorKind::ProtocolError);
  CHECK_THAT(pair.ended().reason, Catch::Contains(fault));
}

TEST_CASE("an upgrade is understood in whatever pieces it comes, and messages right behind it") {
  Pair pair("ws://", {.form = Form::Json});
  int roar = 0;
  pair.client->on_push<zoo::Lion>([&](const zoo::Lion& lion) { roar = lion.roar; });
  const std::string whole = "HTTP/1.1 101 Switching Protocols\r\n" + pair.accept_line() +
                            "Sec-WebSocket-Protocol: spotmesh.v1.json\r\n\r\n" +
                            text_frame(wire::write_packet("zoo.Lion", R"({"roar":7})"));
  for (const char byte : whole) {
    pair.server.say({&byte, 1});
    pair.client->poll();
  }
  REQUIRE(pair.run_until([&] { return roar == 7; }));
}

TEST_CASE("a server that takes the connection and says nothing is given up in time") {
  for (const char* scheme : {"ws://", "tcp://"}) {
    Pair pair(scheme, {.connect_timeout = 20ms});
    CHECK(pair.ended().kind == ErrorKind::DeadlineExceeded);
    CHECK_THAT(pair.ended().reason, Catch::Contains("did not let this client in"));
  }
}

TEST_CASE("a server that is let in and dies half is noticed by its silence") {
  Pair pair("tcp://", {.heartbeat = 20ms});
  pair.server.say(welcome());
  CHECK(pair.ended().kind == ErrorKind::DeadlineExceeded);
  CHECK_THAT(pair.ended().reason, Catch::Contains("nothing was heard"));
}

TEST_CASE("a false length is refused by its header, and costs no memory") {
  const std::size_t before = mallinfo2().uordblks;
  SECTION("over TCP") {
    Pair pair("tcp://");
    pair.server.say(welcome() + "\xff\xff\xff\x7f");
    CHECK(pair.ended().code == 1009);
    CHECK(mallinfo2().uordblks < before + limits::mebibyte);
  }
  SECTION("over WebSocket") {
    Pair pair("ws://", {.form = Form::Json});
    pair.upgrade("spotmesh.v1.json");
    pair.server.say(std::string("\x81\x7f\x00\x00\x00\x7f\xff\xff\xff\xff", 10));
    CHECK(pair.ended().code == 1009);
    CHECK(mallinfo2().uordblks < before + limits::mebibyte);
  }
}

TEST_CASE("a message that never ends is bounded by the length of messages") {
  Pair pair("ws://", {.form = Form::Json, .message_bytes = 100'000});
  pair.upgrade("spotmesh.v1.json");
  pair.server.say(text_frame("{", false));
  const std::string more = [] {
    Bytes bytes;
    wire::append_frame(bytes, wire::WebSocketOpcode::Continuation, as_bytes(std::string(1000, ' ')),
                       std::nullopt, false);
    return std::string(as_text(bytes));
  }();
  REQUIRE(pair.run_until([&] {
    if (!pair.ending) pair.server.say(more);
    return pair.ending.has_value();
  }));
  CHECK(pair.ended().code == 1009);
}

TEST_CASE("a server that never stops does not keep poll, nor the program's memory") {
  Pair pair("tcp://");
  pair.server.say(welcome());
  std::uint64_t unread = 0;
  pair.client->on_unread_push([&](const Error&) { ++unread; });
  std::string many;
  for (int i = 0; i < 10'000; ++i) {
    many += tcp_frame({.kind = wire::BinaryKind::Push, .packet = {0xdead'beef}});
    many += tcp_frame({.kind = wire::BinaryKind::Ping, .body = as_bytes("0123456789")});
  }
  std::size_t from = 0;
  const std::size_t before = mallinfo2().uordblks;
  for (int round = 0; round < 50; ++round) {
    from += pair.server.say(std::string_view(many).substr(from));
    from %= many.size();
    const std::uint64_t seen = unread;
    pair.client->poll();
    // At most sixteen reads of 16 KiB.
    CHECK(unread - seen <= 16 * 16 * 1024 / 16);
    CHECK(pair.client->unsent_bytes() < 100'000);
  }
  CHECK(unread > 10'000);
  CHECK(mallinfo2().uordblks < before + limits::mebibyte);
}

TEST_CASE("a server that reads nothing fills what may wait, and then requests are refused") {
  Pair pair("tcp://", {.outbound_bytes = 100'000});
  pair.server.say(welcome());
  REQUIRE(pair.run_until([&] { return pair.client->state() == State::Open; }));
  const auto fish = Message::of(zoo::Fish{.name = std::string(50'000, 'f'), .tank = {}});
  Result<void> sent;
  for (int i = 0; i < 10'000 && sent; ++i) {
    sent = pair.client->send(fish);
    pair.client->poll();
  }
  REQUIRE_FALSE(sent);
  CHECK(sent.error().kind() == ErrorKind::CapacityExceeded);
  CHECK(pair.client->unsent_bytes() <= 100'000);
  CHECK(pair.client->state() == State::Open);
}

TEST_CASE("a server that goes without a word ends what is under way") {
  Pair pair("tcp://");
  pair.server.say(welcome());
  std::string answer;
  REQUIRE(pair.client->request<zoo::Lion>(
      zoo::Empty{}, [&](const Result<zoo::Lion>& reply) { answer = to_string(reply.error()); }));
  REQUIRE(pair.run_until([&] { return pair.client->state() == State::Open; }));
  pair.server.close();
  REQUIRE(pair.run_until([&] { return pair.ending.has_value(); }));
  CHECK(pair.ending->code == 1006);
  CHECK(pair.ending->may_return);
  CHECK_THAT(answer, Catch::Contains("Unavailable") && Catch::Contains("is unknown"));
}

TEST_CASE("a reply of another packet than was asked for is a ProtocolError of that request") {
  Pair pair("tcp://");
  pair.server.say(welcome());
  std::optional<Error> error;
  REQUIRE(pair.client->request<zoo::Lion>(
      zoo::Empty{}, [&](const Result<zoo::Lion>& reply) { error = reply.error(); }));
  const Bytes body = PacketTraits<zoo::Empty>::encode({});
  pair.server.say(tcp_frame({.kind = wire::BinaryKind::Reply,
                             .packet = PacketTraits<zoo::Empty>::descriptor().id,
                             .seq = {1},
                             .body = body}));
  REQUIRE(pair.run_until([&] { return error.has_value(); }));
  CHECK(error->kind() == ErrorKind::ProtocolError);
  CHECK(pair.client->state() == State::Open);
}
