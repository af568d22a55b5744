// Links without HTTP: a connection is one at once.
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "unit/net/links_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using namespace std::chrono_literals;
using testing::BlockingClient;

namespace {

constexpr auto without_http = stream::LinkInfo::Framing::LengthPrefixed;

}  // namespace

TEST_CASE("a connection without HTTP is a link that carries bytes both ways") {
  TestServer server({}, {.framing = without_http});
  server.start();
  auto client = server.connect();
  const auto handler = server.acceptor.handler(0);
  CHECK(handler->info().framing == without_http);
  CHECK(handler->info().subprotocol.empty());
  CHECK(handler->info().remote_address.starts_with("127.0.0.1:"));
  REQUIRE(client.send("hello"));
  CHECK(handler->wait_received("hello"));
  handler->send({"good ", "", "day"});
  CHECK(client.receive_exactly(8) == "good day");
  // The client may have it before the server learns that it is sent.
  while (handler->unsent_bytes() != 0) std::this_thread::yield();

  client.close();
  REQUIRE(handler->wait_closed());
  CHECK(handler->seen().reason == "closed by peer");
  CHECK(handler->seen().closed == 1);
}

TEST_CASE("what is said and closed from within on_link reaches a client without HTTP") {
  TestServer server({}, {.framing = without_http});
  server.acceptor.on_accepted = [](stream::ClientLink& link) {
    link.send(batch_of({"no room"}));
    link.close_after_flush();
  };
  server.start();
  auto client = server.connect();
  CHECK(client.receive_all() == "no room");
  CHECK(server.acceptor.handler(0)->wait_closed());
}

TEST_CASE("a client without HTTP that is refused is closed without a word") {
  TestServer server({}, {.framing = without_http});
  server.acceptor.refusal = Error::shutting_down("this node drains");
  server.start();
  auto client = server.connect();
  CHECK(client.receive_all().empty());
  CHECK(server.log.lines.wait_until([](const auto& lines) { return !lines.empty(); }));
  CHECK(server.log.lines.get().front().second == "client refused");
}

TEST_CASE("one listener may take WebSockets while another takes bare connections") {
  TestServer server;
  server.start();
  const auto bound = server.links.listen({.framing = without_http}, server.acceptor);
  REQUIRE(bound);
  auto web = server.open_link();
  BlockingClient bare(*bound);
  REQUIRE(bare.is_open());
  REQUIRE(bare.send("hello"));
  const auto handler = server.acceptor.handler(1);
  CHECK(handler->info().framing == without_http);
  CHECK(handler->wait_received("hello"));
  CHECK(server.acceptor.handler(0)->info().framing == stream::LinkInfo::Framing::WebSocket);
  CHECK(server.links.connections() == 2);

  server.links.stop_listening();
  CHECK_FALSE(BlockingClient(*bound).is_open());
  REQUIRE(bare.send("!"));
  CHECK(handler->wait_received("hello!"));
}
