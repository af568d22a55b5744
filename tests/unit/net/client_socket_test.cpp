// The client end of a connection, against the real listener.
#include "net/client_socket.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "net/os_random.hpp"
#include "net/websocket_key.hpp"
#include "unit/net/links_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::net;
using namespace std::chrono_literals;

namespace {

Result<ClientSocket> open(std::uint16_t port, ClientEndpoint endpoint = {}) {
  OsRandom random;
  endpoint.port = port;
  return ClientSocket::open(endpoint, random, patience);
}

std::string receive(ClientSocket& socket, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    auto received = socket.receive(patience);
    REQUIRE(received);
    text += as_text(*received);
  }
  return text;
}

}  // namespace

TEST_CASE("each opening has a key of its own") {
  OsRandom random;
  const std::string key = make_websocket_key(random);
  CHECK(is_websocket_key(key));
  CHECK(make_websocket_key(random) != key);
}

TEST_CASE("a client socket is a link at the server, with bytes both ways") {
  TestServer server;
  server.acceptor.on_accepted = [](stream::ClientLink& link) { link.send(batch_of({"welcome"})); };
  server.start();
  auto socket = open(server.port);
  REQUIRE(socket);
  const auto handler = server.acceptor.handler(0);
  CHECK(handler->info().subprotocol == "spotmesh.v1.json");
  CHECK(receive(*socket, 7) == "welcome");
  REQUIRE(socket->send(as_bytes("hello"), patience));
  CHECK(handler->wait_received("hello"));

  socket->close();
  CHECK(handler->wait_closed());
  CHECK(socket->send(as_bytes("again"), patience).error().kind() == ErrorKind::Unavailable);
}

TEST_CASE("a client socket that hears nothing can go on listening") {
  TestServer server;
  server.start();
  auto socket = open(server.port);
  REQUIRE(socket);
  const auto nothing = socket->receive(1ms);
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().kind() == ErrorKind::DeadlineExceeded);
  server.acceptor.handler(0)->send({"late"});
  CHECK(receive(*socket, 4) == "late");
}

TEST_CASE("a client socket says that its server has gone") {
  TestServer server;
  server.start();
  auto socket = open(server.port);
  REQUIRE(socket);
  server.acceptor.handler(0)->abort();
  CHECK(socket->receive(patience).error().kind() == ErrorKind::Unavailable);
}

TEST_CASE("a client socket does not wait for ever for a server that does not read") {
  TestServer server;
  server.start();
  auto socket = open(server.port);
  REQUIRE(socket);
  server.acceptor.handler(0)->pause_reading();
  const Bytes much(64 * limits::mebibyte);
  const auto sent = socket->send(much, 50ms);
  REQUIRE_FALSE(sent);
  CHECK(sent.error().kind() == ErrorKind::DeadlineExceeded);
  server.acceptor.handler(0)->resume_reading();
  CHECK(server.acceptor.handler(0)->wait_closed());
}

TEST_CASE("a client socket tells what the server said to an opening it refused") {
  TestServer server;
  server.start();
  const auto no_protocol = open(server.port, {.subprotocol = "chess.v1"});
  REQUIRE_FALSE(no_protocol);
  CHECK(no_protocol.error().kind() == ErrorKind::Unavailable);
  CHECK(no_protocol.error().message().find("spotmesh.v1.json") != std::string::npos);
  const auto no_path = open(server.port, {.path = "/elsewhere"});
  REQUIRE_FALSE(no_path);
  CHECK(no_path.error().message().find("HTTP/1.1 404") != std::string::npos);
}

TEST_CASE("a client socket names the address at which nobody listens") {
  std::uint16_t port = 0;
  {
    TestServer server;
    server.start();
    port = server.port;
  }
  const auto nobody = open(port);
  REQUIRE_FALSE(nobody);
  CHECK(nobody.error().kind() == ErrorKind::Unavailable);
  CHECK(nobody.error().message().find(std::to_string(port)) != std::string::npos);
}
