// Heartbeats, messages that never end, and the end of the node.
#include <algorithm>
#include <string>

#include "gateway_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;

using Kind = DisconnectReason::Kind;

TEST_CASE("a silent client is pinged after 15 s and lives as long as it answers") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect();
  gateway.run_for(14s);
  CHECK(client.pings_received() == 0);
  gateway.run_for(2s);
  CHECK(client.pings_received() == 1);
  gateway.run_for(300s);
  CHECK(client.is_open());
  CHECK(client.pings_received() >= 20);
  CHECK(client.pings_received() <= 22);
}

TEST_CASE("a client that speaks is not pinged") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect();
  for (int i = 0; i < 30; ++i) {
    client.send(chat::Say{});
    gateway.run_for(10s);
  }
  CHECK(client.pings_received() == 0);
}

TEST_CASE(
    "a device that lost power is noticed within two heartbeats, with one leave and one unbind") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  client.vanish();
  gateway.run_for(29s);
  CHECK(gateway.server->session_count() == 1);
  gateway.run_for(2s);
  CHECK(gateway.times_seen("ada disconnected: nothing was heard of the client for 30 s") == 1);
  CHECK(gateway.bindings.actor("player").disconnects == 1);
  gateway.run_for(10s);
  CHECK(gateway.server->session_count() == 0);
  CHECK(gateway.times_seen("disconnected") == 1);
}

TEST_CASE("a client that sends but never answers a ping is alive") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect();
  client.stop_answering();
  for (int i = 0; i < 10; ++i) {
    gateway.run_for(20s);
    REQUIRE(client.is_open());
    client.send(chat::Say{});
  }
  gateway.run_for(40s);
  CHECK(client.close_seen()->code == 4005);
}

TEST_CASE("the old socket's timeout touches only its own connection") {
  GatewayFixture gateway;
  SimStreamClient old_client = gateway.connect_bound("old", {"player"});
  old_client.vanish();
  gateway.run_for(20s);
  SimStreamClient new_client = gateway.connect_bound("new", {"player"});
  gateway.run_for(200s);
  CHECK(gateway.times_seen("old disconnected") == 1);
  CHECK(new_client.is_open());
  CHECK(gateway.bindings.actor("player").disconnects == 0);
}

TEST_CASE("a message that never ends closes its connection after 30 s, byte by byte or not") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect("mallory");
  Bytes frame;
  wire::append_frame(frame, wire::WebSocketOpcode::Text,
                     as_bytes(R"({"packet":"chat.Say","payload":{"text":"so slow"}})"),
                     wire::MaskKey{});
  SECTION("a byte a second") {
    for (int i = 0; i < 29; ++i) {
      client.send_bytes({frame[static_cast<std::size_t>(i)]});
      gateway.run_for(1s);
    }
    CHECK(client.is_open());
    gateway.run_for(2s);
  }
  SECTION("fragments that never end, with pings between them") {
    Bytes fragment;
    wire::append_frame(fragment, wire::WebSocketOpcode::Text, as_bytes("{"), wire::MaskKey{},
                       false);
    client.send_bytes(fragment);
    for (int i = 0; i < 30; ++i) {
      client.send_ping("still here");
      gateway.run_for(1s);
    }
    gateway.run_for(1s);
  }
  REQUIRE_FALSE(client.is_open());
  CHECK(client.close_seen()->code == 4005);
  CHECK_THAT(client.close_seen()->reason, Catch::Contains("has not ended"));
  CHECK(gateway.script.living.empty());
}

TEST_CASE("a client that is not read because its session is busy is not taken for dead") {
  GatewayFixture gateway({.inbound_jobs = 2});
  auto open = runtime::make_completion<bool>();
  gateway.script.on_say = [&](ChatSession&, const chat::Say&) -> Task<Result<void>> {
    if (!open->is_complete()) co_await open->wait();
    co_return Result<void>();
  };
  SimStreamClient client = gateway.connect("ada");
  for (int i = 0; i < 10; ++i) client.send(chat::Say{});
  gateway.run_for(300s);
  CHECK(client.is_open());
  open->complete(true);
  gateway.wait_for([&] { return gateway.times_seen("says") == 10; });
  client.vanish();
  gateway.run_for(40s);
  CHECK(gateway.times_seen("disconnected") == 1);
}

TEST_CASE("stop closes every session with 1001 and says when all are gone") {
  GatewayFixture gateway;
  gateway.script.on_disconnect = [&](ChatSession&, const DisconnectReason& reason) -> Task<void> {
    CHECK(reason.kind == Kind::Shutdown);
    auto waited = runtime::make_completion<bool>();
    gateway.world.after(200ms, [waited] { waited->complete(true); });
    co_await waited->wait();
  };
  SimStreamClient ada = gateway.connect_bound("ada", {"a"});
  SimStreamClient bob = gateway.connect("bob");
  SimStreamClient gone = gateway.connect("gone");
  gone.vanish();
  int stopped = 0;
  gateway.server->stop("maintenance", [&] { ++stopped; });
  CHECK(stopped == 0);
  gateway.server->stop("once more", [&] { ++stopped; });
  // Nobody comes in any more.
  const auto late = spotmesh::testing::connect_stream_client(
      gateway.links, gateway.world.random("clients"), gateway.client_packets, "late");
  CHECK(late.error().kind() == ErrorKind::ShuttingDown);
  gateway.wait_for_close(ada);
  gateway.wait_for_close(bob);
  CHECK(ada.close_seen()->code == 1001);
  CHECK(ada.close_seen()->reason == "maintenance");
  gateway.wait_for([&] { return stopped == 2; });
  CHECK(gateway.server->session_count() == 0);
  CHECK(gateway.bindings.actor("a").disconnects == 1);
  CHECK(gateway.times_seen("disconnected: maintenance") == 3);
  gateway.run_for(60s);
  CHECK(stopped == 2);
}

TEST_CASE("a stop without sessions is done at once") {
  GatewayFixture gateway;
  int stopped = 0;
  gateway.server->stop("maintenance", [&] { ++stopped; });
  CHECK(stopped == 1);
}

TEST_CASE("an abandoned gateway runs nothing more, whatever its sessions were doing") {
  GatewayFixture gateway;
  gateway.script.on_say = [&](ChatSession&, const chat::Say&) -> Task<Result<void>> {
    co_await runtime::make_completion<bool>()->wait();
    co_return Result<void>();
  };
  gateway.bindings.add("player").capacity = 0;
  SimStreamClient waiting = gateway.connect("waiting");
  waiting.send(chat::Say{});
  SimStreamClient stalled = gateway.connect_bound("stalled", {"player"});
  stalled.send(chat::Move{});
  SimStreamClient idle = gateway.connect("idle");
  gateway.run_for(1s);
  gateway.links.crash();
  gateway.server->abandon();
  gateway.run_for(60s);
  CHECK(gateway.server->session_count() == 0);
  CHECK_FALSE(gateway.has_seen("disconnected"));
  CHECK(gateway.script.living.empty());
}

TEST_CASE("a full gateway takes a link, says why, and closes it") {
  GatewayFixture gateway({.sessions = 2});
  SimStreamClient ada = gateway.connect("ada");
  SimStreamClient bob = gateway.connect("bob");
  SimStreamClient third = gateway.connect("third");
  CHECK(third.close_seen()->code == 4006);
  CHECK(third.close_seen()->reason ==
        "this server has 2 sessions, which is the most; try again later");
  CHECK_FALSE(gateway.has_seen("third"));
  CHECK(gateway.server->metrics().sessions_refused.value() == 1);
  ada.close();
  gateway.wait_for_close(ada);
  gateway.run_for(1s);
  SimStreamClient fourth = gateway.connect("fourth");
  CHECK(fourth.is_open());
}

TEST_CASE("the log says once that a gateway is full, and again when it has had room meanwhile") {
  GatewayFixture gateway({.sessions = 1});
  const auto told = [&] {
    return std::ranges::count_if(gateway.log.lines, [](const std::string& line) {
      return line.find("clients are turned away") != std::string::npos;
    });
  };
  const auto refuse = [&] {
    SimStreamClient refused = gateway.connect("bob");
    CHECK(refused.close_seen()->code == 4006);
  };
  SimStreamClient ada = gateway.connect("ada");
  CHECK(told() == 0);
  for (int i = 0; i < 3; ++i) refuse();
  CHECK(told() == 1);
  ada.close();
  gateway.wait_for_close(ada);
  gateway.run_for(1s);
  SimStreamClient cleo = gateway.connect("cleo");
  CHECK(cleo.is_open());
  CHECK(told() == 1);
  refuse();
  CHECK(told() == 2);
}
