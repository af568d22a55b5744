// Clients that break the rules, by mistake or on purpose: each is refused cheaply, learns why, and
// harms nobody else.
#include "gateway_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;

using Kind = DisconnectReason::Kind;

namespace {

// A second client that must not notice.
class Bystander {
 public:
  explicit Bystander(GatewayFixture& gateway)
      : gateway_(gateway), client_(gateway.connect("bystander")) {}
  void check() {
    CHECK(client_.is_open());
    CHECK(gateway_.ask<chat::Echoed>(client_, chat::Echo{.text = "well"})->text == "well");
    gateway_.run_for(10s);
    CHECK(gateway_.server->session_count() == 1);
    CHECK(gateway_.links.open_links() == 1);
  }

 private:
  GatewayFixture& gateway_;
  SimStreamClient client_;
};

struct Refusal {
  std::uint16_t code;
  std::string reason;
};

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

TEST_CASE("what is not a message of the protocol closes its connection with a reason") {
  const auto [text, refusal] = GENERATE(table<std::string, Refusal>({
      {"hello", {4001, "JSON"}},
      {"[1,2,3]", {4001, "a message must be a JSON object, not array"}},
      {R"({"payload":{}})", {4001, "field 'packet' is missing"}},
      {R"({"packet":"chat.Say","seq":0})", {4001, "field 'seq' must be a whole number"}},
      {R"({"packet":"chat.Say","colour":1})", {4001, "unknown field 'colour'"}},
      {R"({"packet":"chat.Say","packet":"chat.Say"})", {4001, "packet"}},
      {R"({"packet":"chat.Say","payload":[]})", {4001, "field 'payload' must be an object"}},
      {R"({"packet":"chat.Say","payload":{"text":7}})", {4001, "payload.text"}},
      {R"({"packet":"chat.Say","payload":{"volume":7}})", {4001, "volume"}},
      {std::string(40, '['), {4001, "deep"}},
      {R"({"packet":"chat.Say"} trailing)", {4001, "JSON"}},
      {"\xef\xbb\xbf{\"packet\":\"chat.Say\"}", {4001, "a byte order mark"}},
      {R"({"packet":"chat.Say\u0000"})", {4001, "field 'packet' must be a name"}},
      {R"({"packet":"\ufeffchat.Say"})", {4001, "field 'packet' must be a name"}},
      {R"({"packet":"no\"such\n\u0001packet","seq":9})", {4001, "field 'packet' must be a name"}},
  }));
  GatewayFixture gateway;
  Bystander bystander(gateway);
  SimStreamClient client = gateway.connect("mallory");
  client.send_text(text);
  gateway.wait_for_close(client);
  CAPTURE(text);
  CHECK(client.close_seen()->code == refusal.code);
  CHECK_THAT(client.close_seen()->reason, Catch::Contains(refusal.reason));
  gateway.run_for(1s);
  CHECK(gateway.times_seen("mallory disconnected") == 1);
  CHECK(gateway.server->metrics().closed_for_protocol.value() == 1);
  bystander.check();
}

TEST_CASE("bytes that are no frames close their connection with a reason") {
  const auto [bytes, refusal] = GENERATE(table<Bytes, Refusal>({
      {to_bytes("GET / HTTP/1.1\r\n\r\n"), {1002, ""}},
      // A length of 2^64-1, then of 2^63-1: refused by the header alone.
      {bytes_of({0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}),
       {1002, ""}},
      {bytes_of({0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4}),
       {1009, "65536"}},
      // Not masked.
      {bytes_of({0x81, 0x02, 'h', 'i'}), {1002, "mask"}},
      // Text that is not UTF-8.
      {bytes_of({0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe}), {1007, "UTF-8"}},
      // A binary message.
      {bytes_of({0x82, 0x81, 0, 0, 0, 0, 1}), {1003, "spotmesh.v1.json has text messages only"}},
  }));
  GatewayFixture gateway;
  Bystander bystander(gateway);
  SimStreamClient client = gateway.connect("mallory");
  client.send_bytes(bytes);
  gateway.wait_for_close(client);
  CHECK(client.close_seen()->code == refusal.code);
  CHECK_THAT(client.close_seen()->reason, Catch::Contains(refusal.reason));
  bystander.check();
}

TEST_CASE("a message larger than the limit tells its sender size and limit") {
  GatewayFixture gateway({.message_bytes = 1000});
  SimStreamClient client = gateway.connect();
  client.send(chat::Say{.text = std::string(1000, 'x')});
  gateway.wait_for_close(client);
  CHECK(client.close_seen()->code == 1009);
  CHECK_THAT(client.close_seen()->reason, Catch::Contains("1000") && Catch::Contains("10"));
}

TEST_CASE("an unknown packet is an error of its request, or counted, and ends nothing") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect("ada");
  std::vector<std::string> texts;
  client.on_text([&](std::string_view text) { texts.emplace_back(text); });
  client.send_text(R"({"packet":"chat.Nothing","seq":41})");
  client.send_text(R"({"packet":"chat.Nothing"})");
  gateway.wait_for([&] { return gateway.times_seen("error: NotFound") == 2; });
  REQUIRE(texts.size() == 1);
  CHECK(texts.front() == R"({"reply_to":41,"error":{"kind":"NotFound","code":0,)"
                         R"("message":"this server knows no packet 'chat.Nothing'"}})");
  CHECK(gateway.server->metrics().unknown_packets.value() == 2);
  CHECK(gateway.log.lines.size() == 1);
  CHECK(client.is_open());
}

TEST_CASE("a request whose payload does not fit is answered with the field's name") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect();
  std::vector<std::string> texts;
  client.on_text([&](std::string_view text) { texts.emplace_back(text); });
  client.send_text(R"({"packet":"chat.Echo","seq":3,"payload":{"text":true}})");
  gateway.wait_for([&] { return texts.size() == 1; });
  CHECK_THAT(texts.front(),
             Catch::StartsWith(R"({"reply_to":3,"error":{"kind":"ProtocolError","code":9,)") &&
                 Catch::Contains("payload.text"));
  CHECK(client.is_open());
}

TEST_CASE("a seq that has no answer yet must not come again; one that has may") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  std::vector<std::string> texts;
  client.on_text([&](std::string_view text) { texts.emplace_back(text); });
  client.send_text(R"({"packet":"chat.Echo","seq":7})");
  gateway.wait_for([&] { return texts.size() == 1; });
  client.send_text(R"({"packet":"chat.Echo","seq":7})");
  gateway.wait_for([&] { return texts.size() == 2; });
  client.send_text(R"({"packet":"chat.Move","seq":7})");
  client.send_text(R"({"packet":"chat.Unknown","seq":7})");
  gateway.wait_for_close(client);
  CHECK(client.close_seen()->code == 4001);
  CHECK_THAT(client.close_seen()->reason, Catch::Contains("seq 7"));
}

TEST_CASE("a flood of unknown packets is bounded, logged once, and hurts nobody") {
  GatewayFixture gateway;
  Bystander bystander(gateway);
  SimStreamClient client = gateway.connect("mallory");
  for (int i = 0; i < 5000; ++i) client.send_text(R"({"packet":"no.Such"})");
  gateway.wait_for([&] { return gateway.times_seen("mallory error") == 5000; });
  CHECK(gateway.log.lines.size() == 1);
  client.reset();
  bystander.check();
}

TEST_CASE("a million tiny frames end in a close, not in memory") {
  GatewayFixture gateway;
  Bystander bystander(gateway);
  SimStreamClient client = gateway.connect("mallory");
  // Fragments without content: two bytes for the sender, never a message.
  Bytes frames = bytes_of({0x01, 0x80, 0, 0, 0, 0});
  for (int i = 0; i < 2000; ++i) {
    for (const std::byte each : bytes_of({0x00, 0x80, 0, 0, 0, 0})) frames.push_back(each);
  }
  client.send_bytes(frames);
  gateway.wait_for_close(client);
  CHECK(client.close_seen()->code == 1008);
  bystander.check();
}

TEST_CASE("pings that come together are answered once, with the newest") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect();
  Bytes pings;
  for (int i = 0; i < 100; ++i) {
    wire::append_frame(pings, wire::WebSocketOpcode::Ping, as_bytes(std::to_string(i)),
                       wire::MaskKey{});
  }
  client.send_bytes(pings);
  gateway.run_for(1s);
  // A read may end in the middle.
  CHECK(client.pongs_received() >= 1);
  CHECK(client.pongs_received() <= 2);
}

TEST_CASE("pings of a client that does not read wait in one place and cannot fill the backlog") {
  GatewayFixture gateway({.messages_per_second = 0}, {.socket_buffer_bytes = 4096});
  SimStreamClient client = gateway.connect("mallory");
  client.stop_reading();
  for (int i = 0; i < 20'000; ++i) {
    client.send_ping(std::string(100, 'p'));
    if (i % 100 == 0) gateway.run_for(1ms);
  }
  gateway.run_for(1s);
  CHECK(gateway.server->session_count() == 1);
  CHECK(gateway.server->metrics().bytes_out.value() < 32 * 1024);
  client.start_reading();
  gateway.run_for(30s);
  CHECK(client.is_open());
  CHECK(client.pongs_received() < 400);
}

TEST_CASE("text of any bytes comes back harmless") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect();
  const std::string odd = "\"\\ \n\t \x01 </script> \xf0\x9f\x8e\xb2 \xe2\x80\xa8";
  CHECK(gateway.ask<chat::Echoed>(client, chat::Echo{.text = odd})->text == odd);
  CHECK(client.is_open());
}

TEST_CASE("a poisoned message fails its own call each time, and nothing else notices") {
  GatewayFixture gateway;
  gateway.script.on_echo = [](ChatSession&,
                              const chat::Echo& packet) -> Task<Result<chat::Echoed>> {
    if (packet.text == "poison") throw 42;
    co_return chat::Echoed{.text = packet.text};
  };
  SimStreamClient client = gateway.connect();
  for (int i = 0; i < 20; ++i) {
    CHECK(gateway.ask<chat::Echoed>(client, chat::Echo{.text = "poison"}).error().kind() ==
          ErrorKind::InternalFailure);
    CHECK(gateway.ask<chat::Echoed>(client, chat::Echo{.text = "food"}));
  }
}

TEST_CASE("garbage of every kind, from many clients at once, leaves the gateway as it was") {
  const auto seed = GENERATE(range(1, 9));
  GatewayFixture gateway({}, {}, static_cast<std::uint64_t>(seed));
  Bystander bystander(gateway);
  auto& random = gateway.world.random("garbage");
  std::vector<SimStreamClient> clients;
  for (int i = 0; i < 30; ++i) clients.push_back(gateway.connect("m" + std::to_string(i)));
  for (int round = 0; round < 20; ++round) {
    for (SimStreamClient& client : clients) {
      if (!client.is_open()) continue;
      Bytes garbage(random_below(random, 200));
      for (std::byte& each : garbage) each = static_cast<std::byte>(random.next_u64());
      switch (random_below(random, 6)) {
        case 0:
          client.send_bytes(garbage);
          break;
        case 1:
          client.send_text(R"({"packet":"chat.Say","payload":{"text":"fine"}})");
          break;
        case 2:
          client.reset();
          break;
        case 3:
          client.send_ping("x");
          break;
        case 4:
          client.vanish();
          break;
        default:
          client.send(chat::Say{.text = "fine"});
          break;
      }
    }
    gateway.run_for(3ms);
  }
  gateway.run_for(60s);
  clients.clear();
  gateway.run_for(60s);
  for (int i = 0; i < 30; ++i) {
    const std::string name = "m" + std::to_string(i);
    CHECK(gateway.times_seen(name + " connected") == 1);
    CHECK(gateway.times_seen(name + " disconnected") == 1);
  }
  bystander.check();
}
