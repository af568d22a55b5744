// The client in C++, against the real listener and a server that says what a test wants.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <string_view>

#include <spotmesh/client/connection.hpp>

#include "unit/net/links_fixture.hpp"
#include "wire/stream_json.hpp"
#include "wire/websocket.hpp"
#include "zoo.packets.hpp"

using namespace spotmesh;
using namespace std::chrono_literals;
using client::Connection;

namespace {

std::string frame(std::string_view text) {
  Bytes bytes;
  wire::append_frame(bytes, wire::WebSocketOpcode::Text, as_bytes(text));
  return std::string(as_text(bytes));
}

std::string push_of(int roar) {
  return frame(wire::write_packet("zoo.Lion", R"({"roar":)" + std::to_string(roar) + "}"));
}

struct Server : net::TestServer {
  Server() { start(); }

  Connection connect(std::size_t pushes_bytes) const {
    auto connection = Connection::open({.url = "ws://127.0.0.1:" + std::to_string(port),
                                        .form = client::Form::Json,
                                        .packets = zoo::packets(),
                                        .timeout = net::patience,
                                        .pushes_bytes = pushes_bytes});
    REQUIRE(connection);
    return std::move(*connection);
  }
};

int next_roar(Connection& connection) {
  auto push = connection.next_push(net::patience);
  REQUIRE(push);
  return push->decode<zoo::Lion>()->roar;
}

}  // namespace

TEST_CASE("pushes that wait for next_push come in order, also those before a reply") {
  Server server;
  server.acceptor.on_bytes = [](stream::ClientLink& link, std::string_view) {
    link.send(net::batch_of({push_of(1), push_of(2),
                             frame(wire::write_reply(wire::RequestSeq{1}, "zoo.Empty", "{}"))}));
  };
  auto connection = server.connect(limits::mebibyte);
  REQUIRE(connection.request<zoo::Empty>(zoo::Empty{}));
  CHECK(next_roar(connection) == 1);
  CHECK(next_roar(connection) == 2);
}

TEST_CASE("pushes that nobody takes end the connection at their bound, and what is kept stays") {
  Server server;
  auto connection = server.connect(1024);
  const auto handler = server.acceptor.handler(0);
  for (int i = 1; i <= 100; ++i) handler->send({push_of(i)});
  const auto refused = connection.request<zoo::Empty>(zoo::Empty{});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::CapacityExceeded);
  CHECK(refused.error().message().find("zoo.Lion") != std::string::npos);
  CHECK(refused.error().message().find("1024 bytes may") != std::string::npos);
  CHECK(handler->wait_closed());

  int kept = 0;
  auto push = connection.next_push(net::patience);
  for (; push; push = connection.next_push(net::patience)) {
    CHECK(push->decode<zoo::Lion>()->roar == ++kept);
  }
  CHECK(kept >= 4);
  CHECK(kept <= 7);
  CHECK(push.error().kind() == ErrorKind::Unavailable);
  CHECK(push.error().message().find("this end closed the connection") != std::string::npos);
  CHECK(connection.request<zoo::Empty>(zoo::Empty{}).error().kind() == ErrorKind::Unavailable);
}

TEST_CASE("a packet that is thrown away at the end of the connection is not called sent") {
  Server server;
  auto connection = server.connect(1024);
  const auto handler = server.acceptor.handler(0);
  for (int i = 1; i <= 100; ++i) handler->send({push_of(i)});
  // They may come while the first packets go out; the one that meets the bound is told of it.
  Result<void> sent;
  for (int i = 0; i < 10'000 && sent; ++i) sent = connection.send(zoo::Empty{});
  REQUIRE_FALSE(sent);
  CHECK(sent.error().kind() == ErrorKind::CapacityExceeded);
}

TEST_CASE("a program that takes its pushes may receive any number of them") {
  Server server;
  auto connection = server.connect(1024);
  const auto handler = server.acceptor.handler(0);
  for (int i = 1; i <= 200; ++i) {
    handler->send({push_of(i)});
    CHECK(next_roar(connection) == i);
  }
}
