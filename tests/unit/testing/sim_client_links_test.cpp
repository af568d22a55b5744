#include "testing/sim_client_links.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "support/manual_time.hpp"

using namespace spotmesh;
using namespace spotmesh::testing;
using namespace std::chrono_literals;

namespace {

struct ServerEnd : stream::ClientLinkHandler {
  explicit ServerEnd(stream::ClientLink& its_link) : link(&its_link) {}
  void on_bytes(ByteView bytes) override {
    heard += as_text(bytes);
    ++reads;
    if (pauses_after_each_read) link->pause_reading();
  }
  void on_drained() override { ++drained; }
  void on_closed(std::string_view reason) override {
    ended = reason;
    ++endings;
  }
  void send(std::string text) { link->send({SharedBytes(to_bytes(text))}); }

  stream::ClientLink* link;
  std::string heard;
  std::string ended;
  int reads = 0;
  int drained = 0;
  int endings = 0;
  bool pauses_after_each_read = false;
};

struct Acceptor : stream::LinkAcceptor {
  Result<std::shared_ptr<stream::ClientLinkHandler>> on_link(
      stream::ClientLink& link, const stream::LinkInfo& info) override {
    if (is_full) return fail(Error::capacity_exceeded("no room for another session"));
    last_info = info;
    last = std::make_shared<ServerEnd>(link);
    return last;
  }
  bool is_full = false;
  stream::LinkInfo last_info;
  std::shared_ptr<ServerEnd> last;
};

struct ClientEnd : SimPeer {
  void on_bytes(ByteView bytes) override { heard += as_text(bytes); }
  void on_closed(std::string_view reason) override {
    ended = reason;
    ++endings;
  }
  std::string heard;
  std::string ended;
  int endings = 0;
};

struct World {
  explicit World(std::uint64_t seed = 1, LinkConditions conditions = {})
      : random(seed), links(time, random, conditions) {
    REQUIRE(links.listen({.port = 7777}, acceptor).value() == 7777);
  }
  std::shared_ptr<SimConnection> connect() {
    auto connection = links.connect(client, "spotmesh.v1.json", "10.0.0.1:5000");
    REQUIRE(connection);
    server = acceptor.last;
    return *connection;
  }

  ManualTime time;
  TestRandom random;
  Acceptor acceptor;
  SimClientLinks links;
  ClientEnd client;
  std::shared_ptr<ServerEnd> server;
};

std::string numbered(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + ",";
  return text;
}

}  // namespace

TEST_CASE("bytes arrive after the latency, in order, both ways") {
  World world(1, {.shortest_latency = 1ms, .longest_latency = 20ms});
  const auto connection = world.connect();
  for (int i = 0; i < 200; ++i) {
    connection->send(to_bytes(std::to_string(i) + ","));
    world.server->send(std::to_string(i) + ",");
  }
  CHECK(world.server->heard.empty());
  CHECK(world.client.heard.empty());
  world.time.run_all();
  CHECK(world.server->heard == numbered(200));
  CHECK(world.client.heard == numbered(200));
  CHECK(world.time.now().since_origin <= 20ms);
  CHECK(world.acceptor.last_info.remote_address == "10.0.0.1:5000");
  CHECK(world.acceptor.last_info.subprotocol == "spotmesh.v1.json");
}

TEST_CASE("some reads end in the middle of what was sent at once") {
  World world;
  const auto connection = world.connect();
  for (int i = 0; i < 200; ++i) connection->send(to_bytes("abcdefgh"));
  world.time.run_all();
  CHECK(world.server->heard.size() == 1600);
  CHECK(world.server->reads > 200);
}

TEST_CASE("one seed gives one run of a connection, another seed another") {
  const auto moments = [](std::uint64_t seed) {
    World world(seed);
    const auto connection = world.connect();
    for (int i = 0; i < 20; ++i) connection->send(to_bytes("abcdefgh"));
    world.time.run_all();
    return std::pair(world.time.now().since_origin, world.server->reads);
  };
  CHECK(moments(3) == moments(3));
  CHECK(moments(3) != moments(4));
}

TEST_CASE("nothing is read while reading is paused, and nothing is lost by it") {
  World world;
  const auto connection = world.connect();
  world.server->pauses_after_each_read = true;
  connection->send(to_bytes("one,"));
  connection->send(to_bytes("two,"));
  world.time.run_all();
  CHECK(world.server->reads == 1);
  CHECK(connection->unread_bytes() == 8 - world.server->heard.size());
  world.server->pauses_after_each_read = false;
  world.server->link->resume_reading();
  world.time.run_all();
  CHECK(world.server->heard == "one,two,");
  CHECK(connection->unread_bytes() == 0);
}

TEST_CASE("a client that does not read leaves bytes unsent beyond the socket buffers") {
  World world(1, {.socket_buffer_bytes = 1000});
  const auto connection = world.connect();
  connection->stop_reading();
  const std::string piece(100, 'x');
  for (int i = 0; i < 4000; ++i) world.server->send(piece);
  world.time.run_all();
  CHECK(world.server->link->unsent_bytes() == 400'000 - 1000);
  CHECK(world.client.heard.empty());
  CHECK(world.server->drained == 0);

  connection->start_reading();
  world.time.run_all();
  CHECK(world.client.heard.size() == 400'000);
  CHECK(world.server->link->unsent_bytes() == 0);
  CHECK(world.server->drained == 1);
}

TEST_CASE("an orderly close comes behind what the client had sent") {
  World world;
  const auto connection = world.connect();
  world.server->pauses_after_each_read = true;
  connection->send(to_bytes("first"));
  connection->send(to_bytes("second"));
  connection->close();
  connection->send(to_bytes("after"));
  world.time.run_all();
  CHECK(world.server->endings == 0);
  world.server->pauses_after_each_read = false;
  world.server->link->resume_reading();
  world.time.run_all();
  CHECK(world.server->heard == "firstsecond");
  CHECK(world.server->ended == "closed by the client");
  CHECK(world.server->endings == 1);
  CHECK(world.links.open_links() == 0);
}

TEST_CASE("the server's close waits for what was written, for a bounded time") {
  World world(1, {.socket_buffer_bytes = 1000});
  auto connection = world.connect();
  const std::string text(5000, 'x');
  SECTION("with a client that reads") {
    world.server->send(text);
    world.server->link->close_after_flush();
    world.server->send("too late");
    world.time.run_all();
    CHECK(world.client.heard == text);
    CHECK(world.client.ended == "closed by the server");
  }
  SECTION("with one that does not") {
    connection->stop_reading();
    for (int i = 0; i < 10; ++i) world.server->send(text);
    world.server->link->close_after_flush();
    world.time.run_all();
    CHECK(world.client.heard.empty());
    CHECK(world.time.now().since_origin == 5s);
  }
  CHECK(world.server->endings == 1);
  CHECK(world.client.endings == 1);
}

TEST_CASE("an abort drops what is queued and ends both sides once") {
  World world;
  const auto connection = world.connect();
  world.server->send("lost");
  world.server->link->abort();
  world.server->link->abort();
  CHECK(world.server->endings == 0);
  world.time.run_all();
  CHECK(world.client.heard.empty());
  CHECK(world.server->endings == 1);
  CHECK(world.client.endings == 1);
}

TEST_CASE("a device that loses power tells nobody") {
  World world;
  const auto connection = world.connect();
  connection->vanish();
  connection->send(to_bytes("unheard"));
  world.server->send("unheard");
  world.time.run_all();
  CHECK(world.server->heard.empty());
  CHECK(world.client.heard.empty());
  CHECK(world.server->endings == 0);
  world.server->link->abort();
  world.time.run_all();
  CHECK(world.server->endings == 1);
  CHECK(world.client.endings == 0);
}

TEST_CASE("a reset loses what is under way and both ends learn of it") {
  World world;
  const auto connection = world.connect();
  connection->send(to_bytes("lost"));
  connection->reset();
  world.time.run_all();
  CHECK(world.server->heard.empty());
  CHECK(world.server->ended == "connection reset");
  CHECK(world.client.ended == "connection reset");
}

TEST_CASE("a crash tells the server's handlers nothing and every client of a reset") {
  World world;
  const auto connection = world.connect();
  std::weak_ptr<ServerEnd> handler = world.server;
  world.server.reset();
  world.acceptor.last.reset();
  world.links.crash();
  CHECK(handler.expired());
  world.time.run_all();
  CHECK(world.client.ended == "connection reset");
  CHECK(world.links.connect(world.client, "spotmesh.v1.json").error().kind() ==
        ErrorKind::NotFound);
}

TEST_CASE("a link outlives every reference of its client") {
  World world;
  world.connect().reset();
  world.time.run_all();
  CHECK(world.links.open_links() == 1);
  world.server->send("still here");
  world.time.run_all();
  CHECK(world.client.heard == "still here");
}

TEST_CASE("a forgotten client hears nothing more") {
  World world;
  const auto connection = world.connect();
  world.server->send("unheard");
  connection->forget_peer();
  connection->reset();
  world.time.run_all();
  CHECK(world.client.heard.empty());
  CHECK(world.client.endings == 0);
  CHECK(world.server->endings == 1);
}

TEST_CASE("a client learns why it cannot connect") {
  World world;
  CHECK(world.links.connect(world.client, "spotmesh.v9").error().message() ==
        "subprotocol 'spotmesh.v9' is not offered here");
  world.acceptor.is_full = true;
  CHECK(world.links.connect(world.client, "spotmesh.v1.json").error().kind() ==
        ErrorKind::CapacityExceeded);
  world.links.stop_listening();
  CHECK(world.links.connect(world.client, "spotmesh.v1.json").error().message() ==
        "connection refused: nobody listens");
}

TEST_CASE("clients without WebSocket come through a door of their own") {
  constexpr auto without_http = stream::LinkInfo::Framing::LengthPrefixed;
  World world;
  CHECK(world.links.connect_tcp(world.client).error().message() ==
        "connection refused: nobody listens");
  REQUIRE(world.links.listen({.framing = without_http, .port = 7778}, world.acceptor));
  CHECK(world.links.listen({.framing = without_http}, world.acceptor).error().message() ==
        "port 7778 of 127.0.0.1 is already listened on");
  const auto connection = world.links.connect_tcp(world.client, "10.0.0.1:5001");
  REQUIRE(connection);
  CHECK(world.acceptor.last_info.framing == without_http);
  CHECK(world.acceptor.last_info.subprotocol.empty());
  CHECK(world.acceptor.last_info.remote_address == "10.0.0.1:5001");
  (*connection)->send(to_bytes("hello"));
  world.time.run_all();
  CHECK(world.acceptor.last->heard == "hello");
  world.links.stop_listening();
  CHECK_FALSE(world.links.connect_tcp(world.client));
}
