// What one client, or one address, may take of a gateway.
#include "stream/inbound_quota.hpp"

#include "binary_end.hpp"
#include "gateway_fixture.hpp"
#include "stream/address_counts.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;

using Kind = DisconnectReason::Kind;

namespace {

Instant at(Duration time) { return {time}; }

// A small quota, so that tests need few messages: 100 a second, 200 at once.
StreamOptions small_quota() {
  return {.messages_per_second = 100, .message_burst = 200, .quota_patience = 2s};
}

void say_many(SimStreamClient& client, int count) {
  for (int i = 0; i < count; ++i) client.send(chat::Say{.text = std::to_string(i)});
}

// Answers of a healthy client, each within `longest`, for as long as `is_going_on`.
void check_healthy(GatewayFixture& gateway, SimStreamClient& client, Duration longest,
                   const std::function<bool()>& is_going_on) {
  int asked = 0;
  while (is_going_on()) {
    const std::string text = std::to_string(asked++);
    const Instant begun = gateway.world.now();
    const auto answer = gateway.ask<chat::Echoed>(client, chat::Echo{.text = text});
    REQUIRE(answer);
    REQUIRE(answer->text == text);
    REQUIRE(gateway.world.now() - begun <= longest);
    gateway.run_for(50ms);
  }
  CHECK(asked > 3);
}

}  // namespace

TEST_CASE("a bucket has room for its burst, and then for its rate") {
  RateBucket bucket(10, 5);
  Instant now = at(1h);
  for (int i = 0; i < 5; ++i) {
    CHECK(bucket.has_room(now));
    bucket.take(1, now);
  }
  CHECK_FALSE(bucket.has_room(now));
  CHECK_FALSE(bucket.has_room(now + 100ms - 100ms));
  CHECK(bucket.has_room(now + 1ms));
  bucket.take(1, now + 1ms);
  CHECK_FALSE(bucket.has_room(now + 90ms));
  CHECK(bucket.has_room(now + 101ms));
  // Silence saves up a burst and no more.
  now = now + 1h;
  int taken = 0;
  for (; bucket.has_room(now); ++taken) bucket.take(1, now);
  CHECK(taken == 5);
}

TEST_CASE("a bucket without a rate has room for everything") {
  RateBucket bucket(0, 1);
  for (int i = 0; i < 1000; ++i) bucket.take(std::size_t{1} << 40, at(1s));
  CHECK(bucket.has_room(at(1s)));
  CHECK(bucket.refilled_at(at(1s)) == at(1s));
}

TEST_CASE("patience ends when the time held back outweighs the time in between") {
  InboundQuota quota({.messages_per_second = 10, .message_burst = 1, .quota_patience = 1s});
  Instant now = at(1h);
  quota.take_message(now);
  SECTION("held back most of the time") {
    Duration held{};
    while (true) {
      const Instant begun = now;
      now = quota.hold(now) + 50ms;
      held += now - begun;
      if (!quota.release(now)) break;
      now = now + 1ms;
      quota.take_message(now);
      REQUIRE(held < 1100ms);
    }
    CHECK(held >= 1s);
    CHECK(quota.breach() == "more than 10 messages a second, which is the most, for 1 s");
  }
  SECTION("held back less than half of the time") {
    for (int i = 0; i < 1000; ++i) {
      now = quota.hold(now) + 50ms;
      REQUIRE(quota.release(now));
      now = now + 200ms;
      quota.take_message(now);
    }
  }
}

TEST_CASE("a client that sends faster than its quota is held back, and nothing is lost",
          "[BIND-11]") {
  GatewayFixture gateway(small_quota());
  SimStreamClient client = gateway.connect("ada");
  const Instant begun = gateway.world.now();
  say_many(client, 300);
  gateway.run_for(100ms);
  CHECK(gateway.times_seen("says") >= 200);
  CHECK(gateway.times_seen("says") < 230);
  gateway.wait_for([&] { return gateway.times_seen("says") == 300; });
  CHECK(gateway.world.now() - begun >= 900ms);
  for (std::size_t i = 0; i < 300; ++i) {
    REQUIRE(gateway.script.seen[i + 1] == "ada says " + std::to_string(i));
  }
  CHECK(gateway.server->metrics().held_back.value() > 0);
  CHECK(gateway.server->metrics().closed_over_quota.value() == 0);
  CHECK(client.is_open());
  // What it saves up while it is silent is there again.
  gateway.run_for(5s);
  const auto held_back = gateway.server->metrics().held_back.value();
  say_many(client, 150);
  gateway.wait_for([&] { return gateway.times_seen("says") == 450; });
  CHECK(gateway.server->metrics().held_back.value() == held_back);
}

TEST_CASE("a client that sends without end is closed with 4007, which names its quota") {
  StreamOptions options = small_quota();
  std::string reason = "more than 100 messages a second, which is the most, for 2 s";
  std::function<void(SimStreamClient&)> flood;
  SECTION("packets") {
    flood = [](SimStreamClient& client) { say_many(client, 50); };
  }
  SECTION("packets that the server does not know") {
    flood = [](SimStreamClient& client) {
      for (int i = 0; i < 50; ++i) client.send_text(R"({"packet":"no.Such"})");
    };
  }
  SECTION("pings") {
    flood = [](SimStreamClient& client) {
      for (int i = 0; i < 50; ++i) client.send_ping("x");
    };
  }
  SECTION("long messages") {
    options.bytes_per_second = 10'000;
    options.byte_burst = 20'000;
    options.message_bytes = 8'000;
    reason = "more than 10000 bytes a second, which is the most, for 2 s";
    flood = [](SimStreamClient& client) {
      client.send(chat::Say{.text = std::string(7'000, 'x')});
    };
  }
  GatewayFixture gateway(options);
  SimStreamClient healthy = gateway.connect("healthy");
  SimStreamClient client = gateway.connect("mallory");
  check_healthy(gateway, healthy, 100ms, [&] {
    if (client.is_open()) flood(client);
    return client.is_open();
  });
  CHECK(client.close_seen()->code == 4007);
  CHECK(client.close_seen()->reason == reason);
  CHECK(gateway.times_seen("mallory disconnected: " + reason) == 1);
  CHECK(gateway.server->metrics().closed_over_quota.value() == 1);
  CHECK(gateway.log.told("client closed with QuotaExceeded") == 1);
  gateway.run_for(10s);
  CHECK(gateway.server->session_count() == 1);
}

TEST_CASE("a binary client has the same quota, from its Hello on") {
  const auto carrier = GENERATE(BinaryCarrier::WebSocket, BinaryCarrier::Tcp);
  GatewayFixture gateway(small_quota());
  BinaryEnd client(gateway, carrier);
  client.hello();
  for (std::uint32_t i = 1; i <= 2000; ++i) client.one_way(chat::Say{.text = "x"});
  gateway.wait_for([&] { return client.close_seen.has_value(); });
  CHECK(client.close_seen->code == wire::CloseCode::QuotaExceeded);
  CHECK_THAT(client.close_seen->reason, Catch::Contains("100 messages a second"));
}

TEST_CASE("a client that is held back and then goes leaves nothing behind") {
  GatewayFixture gateway(small_quota());
  SimStreamClient client = gateway.connect("ada");
  say_many(client, 350);
  gateway.run_for(300ms);
  SECTION("by a reset") { client.reset(); }
  SECTION("with the gateway's stop") {
    gateway.server->stop("test", [] {});
  }
  gateway.wait_for([&] { return gateway.server->session_count() == 0; });
  gateway.run_for(1min);
  CHECK(gateway.links.open_links() == 0);
}

TEST_CASE("silence is not held against a client that is not read", "[BIND-11]") {
  GatewayFixture gateway({.message_bytes = 1000,
                          .bytes_per_second = 100,
                          .byte_burst = 1000,
                          .quota_patience = 10min,
                          .heartbeat_interval = 2s});
  SimStreamClient client = gateway.connect("ada");
  for (int i = 0; i < 5; ++i) client.send(chat::Say{.text = std::string(900, 'x')});
  gateway.wait_for([&] { return gateway.times_seen("says") == 5; });
  gateway.run_for(30s);
  CHECK(client.is_open());
}

TEST_CASE("connections are counted by address until they end, and not for proxies") {
  AddressCounts counts(2, {"10.0.0.1"});
  {
    auto first = counts.take("10.0.0.2");
    auto second = counts.take("10.0.0.2");
    REQUIRE(first);
    REQUIRE(second);
    CHECK_FALSE(counts.take("10.0.0.2"));
    CHECK(counts.is_news("10.0.0.2"));
    CHECK_FALSE(counts.is_news("10.0.0.2"));
    CHECK(counts.take("10.0.0.3"));
    second.reset();
    CHECK(counts.take("10.0.0.2"));
    CHECK(counts.is_news("10.0.0.2"));
  }
  CHECK(counts.count("10.0.0.2") == 0);
  std::vector<AddressCounts::Place> places;
  for (int i = 0; i < 10; ++i) {
    for (const char* address : {"10.0.0.1", ""}) {
      auto place = counts.take(address);
      REQUIRE(place);
      places.push_back(*std::move(place));
    }
  }
  AddressCounts unbounded(0, {});
  for (int i = 0; i < 10; ++i) places.push_back(*unbounded.take("10.0.0.2"));
}

TEST_CASE("an address that has all its connections is told 4006, and others come in") {
  GatewayFixture gateway({.connections_per_address = 3, .proxies = {"10.0.0.9"}});
  std::vector<SimStreamClient> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(gateway.connect("10.0.0.2:" + std::to_string(i)));
  for (int i = 3; i < 20; ++i) {
    auto refused = spotmesh::testing::connect_stream_client(
        gateway.links, gateway.world.random("client"), gateway.client_packets,
        "10.0.0.2:" + std::to_string(i));
    REQUIRE(refused);
    gateway.wait_for_close(*refused);
    CHECK(refused->close_seen()->code == 4006);
    CHECK(refused->close_seen()->reason ==
          "there are 3 connections from your address, which is the most; try again later");
  }
  CHECK(gateway.server->metrics().addresses_refused.value() == 17);
  CHECK(gateway.log.told("clients of an address are turned away") == 1);
  // One that has not said Hello counts like any other.
  BinaryEnd silent(gateway, BinaryCarrier::Tcp, "10.0.0.2:30");
  gateway.wait_for([&] { return silent.close_seen.has_value(); });
  CHECK(silent.close_seen->code == wire::CloseCode::Overloaded);

  for (int i = 0; i < 10; ++i) clients.push_back(gateway.connect("10.0.0.9:" + std::to_string(i)));
  clients.push_back(gateway.connect("10.0.0.3:1"));
  clients.front().reset();
  gateway.wait_for([&] { return !clients.front().is_open(); });
  gateway.run_for(1s);
  clients.push_back(gateway.connect("10.0.0.2:40"));
  CHECK(gateway.server->session_count() == 14);
}

TEST_CASE("a little that a client leaves standing for too long ends it, however lively it is",
          "[BIND-10]") {
  GatewayFixture gateway({}, {.socket_buffer_bytes = 4096});
  SimStreamClient client = gateway.connect_bound("mallory", {"player"});
  client.stop_reading();
  for (int i = 0; i < 2; ++i) {
    REQUIRE(gateway.push("player", chat::Notice{.text = std::string(20'000, 'x')}));
    gateway.run_for(100ms);
  }
  const Instant begun = gateway.world.now();
  while (client.is_open() && gateway.server->session_count() == 1) {
    client.send(chat::Say{.text = "here"});
    gateway.run_for(1s);
    REQUIRE(gateway.world.now() - begun < 1min);
  }
  CHECK(gateway.world.now() - begun > 30s);
  CHECK(gateway.server->metrics().closed_slow.value() == 1);
  CHECK(gateway.has_seen("mallory disconnected: the client has not read for"));
}

TEST_CASE("a client that reads slowly but steadily is not too old", "[BIND-10]") {
  GatewayFixture gateway({.outbound_age = 5s, .heartbeat_interval = 2s},
                         {.socket_buffer_bytes = 4096});
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  for (int i = 0; i < 60; ++i) {
    client.stop_reading();
    for (int n = 0; n < 2; ++n) {
      REQUIRE(gateway.push("player", chat::Notice{.text = std::string(20'000, 'x')}));
      gateway.run_for(500ms);
    }
    client.start_reading();
    gateway.run_for(100ms);
  }
  CHECK(client.is_open());
  CHECK(gateway.server->metrics().closed_slow.value() == 0);
}
