// Sessions of clients that speak the binary form: the handshake, packets both ways, and what a
// client does wrong. Every case holds for both carriers.
#include <algorithm>
#include <chrono>

#include "binary_end.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;
using wire::CloseCode;

namespace {

BinaryCarrier any_carrier() { return GENERATE(BinaryCarrier::WebSocket, BinaryCarrier::Tcp); }

void wait_for_heard(GatewayFixture& gateway, const BinaryEnd& client, std::size_t frames) {
  gateway.wait_for([&] { return client.heard.size() >= frames; });
}

// Through the handshake.
void welcome(GatewayFixture& gateway, BinaryEnd& client, const wire::StreamHello& hello = {}) {
  client.hello(hello);
  wait_for_heard(gateway, client, 1);
  CHECK(client.welcome().version == 1);
}

// Welcomed, and bound to an Actor of that name.
void bind(GatewayFixture& gateway, BinaryEnd& client, const std::string& actor) {
  gateway.bindings.add(actor);
  welcome(gateway, client);
  client.request(1, chat::Bind{.actors = {actor}});
  wait_for_heard(gateway, client, 2);
  REQUIRE(client.last().kind == BinaryKind::Reply);
}

wire::WebSocketClose wait_for_close(GatewayFixture& gateway, const BinaryEnd& client) {
  gateway.wait_for([&] { return !client.is_open; });
  REQUIRE(client.close_seen.has_value());
  return *client.close_seen;
}

std::vector<wire::TypePrint> chat_prints() {
  wire::PacketCatalog catalog;
  catalog.add(chat::packets());
  return catalog.prints().prints();
}

}  // namespace

TEST_CASE("pings before Hello are answered so often and no more, whether or not they are read") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd client(gateway, carrier, "mallory");
  for (int i = 0; i < 10'000; ++i) client.ping("again");
  CHECK(wait_for_close(gateway, client) ==
        wire::WebSocketClose{CloseCode::QuotaExceeded, "more than 64 pings before Hello"});
  CHECK(client.pongs.size() == 64);
  CHECK(gateway.server->metrics().handshakes.value() == 0);
  CHECK(gateway.server->metrics().handshakes_refused.value() == 1);
}

TEST_CASE("a client says Hello, is welcomed with the limits, and asks") {
  const auto carrier = any_carrier();
  GatewayFixture gateway({.message_bytes = 5000, .requests_in_flight = 7});
  BinaryEnd client(gateway, carrier, "ada");
  welcome(gateway, client, {.types = chat_prints()});
  CHECK(client.welcome().message_bytes == 5000);
  CHECK(client.welcome().requests_in_flight == 7);
  CHECK(client.welcome().request_timeout_ms == 15'000);
  CHECK(client.welcome().heartbeat_ms == 15'000);
  CHECK_FALSE(client.welcome().is_resumed);
  CHECK(client.welcome().resume.empty());
  CHECK(client.welcome().session.size() == 32);

  client.request(4294967295, chat::Echo{.text = "hey"});
  wait_for_heard(gateway, client, 2);
  CHECK(client.last().kind == BinaryKind::Reply);
  CHECK(client.last().seq == 4294967295);
  CHECK(client.last().as<chat::Echoed>().text == "hey");
  client.one_way(chat::Say{.text = "bye"});
  client.close(CloseCode::Normal, "done");
  CHECK(wait_for_close(gateway, client) == wire::WebSocketClose{CloseCode::Normal, ""});
  gateway.run_for(1s);
  CHECK(gateway.has_seen("ada says bye"));
  CHECK(gateway.times_seen("ada disconnected") == 1);
  CHECK(gateway.server->metrics().closed_by_client.value() == 1);
}

TEST_CASE("there is no session before Hello, and what comes behind it at once is handled") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd client(gateway, carrier, "ada");
  client.ping("early");
  gateway.run_for(1s);
  CHECK(client.pongs == std::vector<std::string>{"early"});
  CHECK(gateway.script.seen.empty());
  CHECK(gateway.server->session_count() == 0);
  CHECK(gateway.server->metrics().handshakes.value() == 1);

  client.hello();
  client.one_way(chat::Say{.text = "one"});
  client.one_way(chat::Say{.text = "two"});
  gateway.wait_for([&] { return gateway.has_seen("ada says two"); });
  CHECK(gateway.script.seen ==
        std::vector<std::string>{"ada connected", "ada says one", "ada says two"});
  CHECK(gateway.server->metrics().handshakes.value() == 0);
  wait_for_heard(gateway, client, 1);
  gateway.run_for(1s);
  CHECK(client.heard.size() == 1);
  CHECK(client.last().kind == BinaryKind::Welcome);
}

TEST_CASE("an Actor's pushes and a relayed request's reply reach a binary client",
          "[BIND-01][BIND-13]") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd client(gateway, carrier);
  bind(gateway, client, "player");
  REQUIRE(gateway.push("player", chat::Notice{.number = 7, .text = "é"}));
  wait_for_heard(gateway, client, 3);
  CHECK(client.last().kind == BinaryKind::Push);
  CHECK(client.last().as<chat::Notice>().number == 7);
  CHECK(client.last().as<chat::Notice>().text == "é");

  client.request(9, chat::Move{.number = 3});
  gateway.wait_for([&] { return !gateway.bindings.actor("player").queue.empty(); });
  auto& received = gateway.bindings.actor("player").queue.front();
  CHECK(received.message.decode<chat::Move>()->number == 3);
  received.reply(Message::of(chat::Moved{.number = 4}));
  wait_for_heard(gateway, client, 4);
  CHECK(client.last().seq == 9);
  CHECK(client.last().as<chat::Moved>().number == 4);
}

TEST_CASE("a broadcast is encoded once for each form among its receivers") {
  GatewayFixture gateway;
  BinaryEnd web_1(gateway, BinaryCarrier::WebSocket, "web-1");
  BinaryEnd web_2(gateway, BinaryCarrier::WebSocket, "web-2");
  BinaryEnd tcp_1(gateway, BinaryCarrier::Tcp, "tcp-1");
  BinaryEnd tcp_2(gateway, BinaryCarrier::Tcp, "tcp-2");
  bind(gateway, web_1, "a");
  bind(gateway, tcp_1, "b");
  bind(gateway, web_2, "c");
  bind(gateway, tcp_2, "d");
  SimStreamClient json_1 = gateway.connect_bound("json-1", {"e"});
  SimStreamClient json_2 = gateway.connect_bound("json-2", {"f"});
  const Message message = Message::of(chat::Notice{.number = 1});
  for (const char* actor : {"a", "b", "e", "c", "d", "f"}) {
    REQUIRE(gateway.bindings.push(actor, message));
  }
  gateway.wait_for([&] { return json_2.pushes_received() == 1; });
  gateway.run_for(1s);
  for (const BinaryEnd* client : {&web_1, &web_2, &tcp_1, &tcp_2}) {
    CHECK(client->last().as<chat::Notice>().number == 1);
  }
  CHECK(gateway.server->metrics().pushes_out.value() == 6);
  CHECK(gateway.server->metrics().pushes_encoded.value() == 3);
}

TEST_CASE("a client that says no Hello in time is told so and let go") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd client(gateway, carrier, "ada");
  // Half of a frame is no Hello either.
  client.send(to_bytes(std::string("\x82", 1)));
  gateway.run_for(9900ms);
  CHECK_FALSE(client.close_seen.has_value());
  CHECK(wait_for_close(gateway, client) ==
        wire::WebSocketClose{CloseCode::Unresponsive, "no Hello came within 10 s"});
  CHECK(gateway.script.seen.empty());
  CHECK(gateway.server->metrics().handshakes_expired.value() == 1);
  CHECK(gateway.server->metrics().handshakes.value() == 0);
  CHECK(gateway.links.open_links() == 0);
}

TEST_CASE("silent connections push out the oldest of their like, never a player") {
  const auto carrier = any_carrier();
  GatewayFixture gateway({.handshakes = 3});
  BinaryEnd player(gateway, carrier, "player");
  welcome(gateway, player);
  std::vector<std::unique_ptr<BinaryEnd>> silent;
  for (int i = 0; i < 10; ++i) {
    silent.push_back(std::make_unique<BinaryEnd>(gateway, carrier, "silent"));
    gateway.run_for(50ms);
  }
  for (std::size_t i = 0; i < silent.size(); ++i) CHECK(silent[i]->is_open == (i >= 7));
  CHECK(silent.front()->close_seen->code == CloseCode::Unresponsive);
  CHECK(gateway.server->metrics().handshakes.value() == 3);
  player.request(1, chat::Echo{.text = "well"});
  wait_for_heard(gateway, player, 2);
  // Who is late but in order comes in all the same.
  welcome(gateway, *silent.back());
}

TEST_CASE("what does not begin with one sound Hello is refused with its fault") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd client(gateway, carrier, "ada");
  SECTION("a packet first") {
    client.one_way(chat::Say{.text = "x"});
    CHECK(wait_for_close(gateway, client).reason == "Hello must come first");
  }
  SECTION("Hello twice") {
    client.hello();
    client.hello();
    CHECK(wait_for_close(gateway, client).reason == "Hello is said once");
  }
  SECTION("a body that is none") {
    const Bytes body = to_bytes("no such table at all");
    client.say({.kind = BinaryKind::Hello, .body = body});
    CHECK(wait_for_close(gateway, client).reason == "the body of Hello is no such table");
  }
  SECTION("a bound of messages that leaves no room for an error") {
    client.hello({.message_bytes = 4095});
    CHECK(wait_for_close(gateway, client).reason ==
          "message_bytes of Hello must be 0 or at least 4096, it is 4095");
  }
  CHECK(client.close_seen->code == CloseCode::BadMessage);
  CHECK_FALSE(gateway.has_seen("says"));
}

TEST_CASE("a version or schema that does not fit is refused by name") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd client(gateway, carrier);
  SECTION("a version") {
    client.hello({.version = 2});
    CHECK(wait_for_close(gateway, client).reason ==
          "version 1 of the protocol is spoken here, not 2");
  }
  SECTION("a packet whose field has another type") {
    auto types = chat_prints();
    const auto echo = std::ranges::find(types, "chat.Echo", &wire::TypePrint::name);
    echo->lines.at(1) = wire::line_hash("text:[ubyte]");
    client.hello({.types = types});
    CHECK(wait_for_close(gateway, client).reason ==
          "chat.Echo does not fit: line 1 is 'text:string' here");
  }
  CHECK(client.close_seen->code == CloseCode::Incompatible);
  CHECK(gateway.script.seen.empty());
  CHECK(gateway.server->metrics().handshakes_refused.value() == 1);
}

TEST_CASE("a newer and an older client of a schema that only grew are welcome") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  auto newer = chat_prints();
  for (auto& type : newer) type.lines.push_back(wire::line_hash("added:int=0"));
  newer.push_back({"chat.AddedPacket", {wire::line_hash("table")}});
  auto older = chat_prints();
  for (auto& type : older) type.lines.resize(std::min<std::size_t>(type.lines.size(), 1));
  BinaryEnd first(gateway, carrier, "newer");
  welcome(gateway, first, {.types = newer});
  BinaryEnd second(gateway, carrier, "older");
  welcome(gateway, second, {.types = older});
}

TEST_CASE("packets that are unknown or no FlatBuffers are refused like JSON of a wrong shape") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd client(gateway, carrier, "ada");
  welcome(gateway, client);
  client.say({.kind = BinaryKind::Request, .packet = {0xdeadbeef}, .seq = {5}});
  wait_for_heard(gateway, client, 2);
  CHECK(client.last().kind == BinaryKind::ErrorReply);
  CHECK(client.last().seq == 5);
  CHECK(client.last().code == static_cast<unsigned>(ErrorKind::NotFound));
  CHECK(client.last().text() == "this server knows no packet deadbeef");
  client.say({.kind = BinaryKind::OneWay, .packet = {0xdeadbeef}});
  gateway.wait_for([&] { return gateway.times_seen("error: NotFound") == 2; });

  const Bytes unsound = to_bytes("unsound");
  const PacketId echo = PacketTraits<chat::Echo>::descriptor().id;
  client.say({.kind = BinaryKind::Request, .packet = echo, .seq = {6}, .body = unsound});
  wait_for_heard(gateway, client, 3);
  CHECK(client.last().code == static_cast<unsigned>(ErrorKind::ProtocolError));
  CHECK(client.last().text() == "chat.Echo: the bytes are no such packet");
  CHECK(client.is_open);
  client.say({.kind = BinaryKind::OneWay, .packet = echo, .body = unsound});
  CHECK(wait_for_close(gateway, client) ==
        wire::WebSocketClose{CloseCode::BadMessage, "chat.Echo: the bytes are no such packet"});
}

TEST_CASE("a packet that is cut anywhere is refused or read, and ends nothing") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd client(gateway, carrier);
  welcome(gateway, client);
  const Bytes whole = PacketTraits<chat::Bind>::encode(chat::Bind{.actors = {"a", "b"}});
  std::uint32_t seq = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    client.say({.kind = BinaryKind::Request,
                .packet = PacketTraits<chat::Bind>::descriptor().id,
                .seq = {++seq},
                .body = ByteView(whole).first(size)});
    wait_for_heard(gateway, client, 1 + seq);
    CHECK(client.last().kind == BinaryKind::ErrorReply);
  }
  client.request(++seq, chat::Echo{.text = "well"});
  wait_for_heard(gateway, client, 1 + seq);
  CHECK(client.last().as<chat::Echoed>().text == "well");
}

TEST_CASE("a client gets nothing longer than it takes, and learns so") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  gateway.script.on_echo = [](ChatSession&, const chat::Echo&) -> Task<Result<chat::Echoed>> {
    co_return chat::Echoed{.text = std::string(5000, 'x')};
  };
  gateway.bindings.add("player");
  BinaryEnd client(gateway, carrier);
  welcome(gateway, client, {.message_bytes = 4096});
  client.request(1, chat::Echo{});
  wait_for_heard(gateway, client, 2);
  CHECK(client.last().kind == BinaryKind::ErrorReply);
  CHECK(client.last().code == static_cast<unsigned>(ErrorKind::InternalFailure));
  CHECK_THAT(client.last().text(), Catch::Contains("no more than 4096"));

  client.request(2, chat::Bind{.actors = {"player"}});
  wait_for_heard(gateway, client, 3);
  const auto pushed =
      gateway.push("player", chat::Notice{.number = 1, .text = std::string(4096, 'x')});
  CHECK(pushed.error().kind() == ErrorKind::CapacityExceeded);
  CHECK(gateway.push("player", chat::Notice{.number = 1, .text = std::string(4000, 'x')}));
  wait_for_heard(gateway, client, 4);
  CHECK(client.last().body.size() + wire::binary_header_bytes <= 4096);
}

TEST_CASE("a message of a client that is larger than the limit names both") {
  const auto carrier = any_carrier();
  GatewayFixture gateway({.message_bytes = 1000});
  BinaryEnd client(gateway, carrier);
  welcome(gateway, client);
  client.one_way(chat::Say{.text = std::string(2000, 'x')});
  const auto close = wait_for_close(gateway, client);
  CHECK(close.code == CloseCode::MessageTooBig);
  CHECK_THAT(close.reason, Catch::Contains("over the limit of 1000 bytes"));
}

TEST_CASE("bytes that are no frames of a carrier are refused with a reason") {
  GatewayFixture gateway;
  SECTION("text in the binary subprotocol") {
    BinaryEnd client(gateway, BinaryCarrier::WebSocket);
    Bytes text;
    wire::append_frame(text, wire::WebSocketOpcode::Text, as_bytes("{}"), wire::MaskKey{});
    client.send(text);
    CHECK(wait_for_close(gateway, client) ==
          wire::WebSocketClose{CloseCode::UnsupportedData, "spotmesh.v1 has binary messages only"});
  }
  SECTION("a length of ff ff ff ff") {
    BinaryEnd client(gateway, BinaryCarrier::Tcp);
    client.send(Bytes(4, std::byte{0xff}));
    CHECK(wait_for_close(gateway, client).code == CloseCode::MessageTooBig);
  }
  SECTION("an HTTP request that has lost its way") {
    BinaryEnd client(gateway, BinaryCarrier::Tcp);
    client.send(to_bytes("GET /stream HTTP/1.1\r\n\r\n"));
    CHECK(wait_for_close(gateway, client).code == CloseCode::MessageTooBig);
  }
  SECTION("a frame shorter than its header") {
    BinaryEnd client(gateway, BinaryCarrier::Tcp);
    client.send(to_bytes(std::string("\x01\0\0\0x", 5)));
    CHECK(wait_for_close(gateway, client).code == CloseCode::BadMessage);
  }
  CHECK(gateway.script.seen.empty());
  CHECK(gateway.links.open_links() == 0);
}

TEST_CASE("a silent binary client is pinged, and let go when nothing comes back") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd lively(gateway, carrier, "lively");
  BinaryEnd dead(gateway, carrier, "dead");
  welcome(gateway, lively);
  welcome(gateway, dead);
  dead.answers_pings = false;
  const auto close = wait_for_close(gateway, dead);
  CHECK(close.code == CloseCode::Unresponsive);
  CHECK(dead.pings == 1);
  gateway.run_for(60s);
  CHECK(lively.is_open);
  CHECK(lively.pings >= 4);
}

TEST_CASE("a full gateway tells a binary client so, before Hello and behind it") {
  const auto carrier = any_carrier();
  GatewayFixture gateway({.sessions = 1});
  BinaryEnd early(gateway, carrier, "early");
  BinaryEnd player(gateway, carrier, "player");
  welcome(gateway, player);
  early.hello();
  CHECK(wait_for_close(gateway, early).code == CloseCode::Overloaded);
  BinaryEnd late(gateway, carrier, "late");
  CHECK(wait_for_close(gateway, late).code == CloseCode::Overloaded);
  CHECK(gateway.server->metrics().sessions_refused.value() == 2);
  CHECK(gateway.server->session_count() == 1);
}

TEST_CASE("a gateway that stops says so to players and to those who have not said Hello") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd player(gateway, carrier, "player");
  BinaryEnd silent(gateway, carrier, "silent");
  welcome(gateway, player);
  bool has_stopped = false;
  gateway.server->stop("maintenance", [&] { has_stopped = true; });
  CHECK(wait_for_close(gateway, player) ==
        wire::WebSocketClose{CloseCode::GoingAway, "maintenance"});
  CHECK(wait_for_close(gateway, silent) ==
        wire::WebSocketClose{CloseCode::GoingAway, "maintenance"});
  gateway.wait_for([&] { return has_stopped; });
  CHECK(gateway.server->metrics().handshakes.value() == 0);
}

TEST_CASE("links that have not said Hello end with an abandoned gateway, or by themselves") {
  const auto carrier = any_carrier();
  GatewayFixture gateway;
  BinaryEnd left(gateway, carrier);
  left.close(CloseCode::Normal, "changed my mind");
  CHECK(wait_for_close(gateway, left).code == CloseCode::Normal);
  {
    BinaryEnd vanished(gateway, carrier);
    gateway.run_for(1s);
  }
  gateway.run_for(1s);
  CHECK(gateway.server->metrics().handshakes.value() == 0);
  BinaryEnd cut(gateway, carrier);
  gateway.server->abandon();
  gateway.wait_for([&] { return !cut.is_open; });
  CHECK(gateway.server->metrics().handshakes.value() == 0);
  gateway.run_for(60s);
}

TEST_CASE("garbage of every kind from many binary clients leaves the gateway as it was") {
  const auto seed = GENERATE(range(1, 9));
  GatewayFixture gateway({}, {}, static_cast<std::uint64_t>(seed));
  auto& random = gateway.world.random("garbage");
  const auto carrier_of = [](std::size_t i) {
    return i % 2 == 0 ? BinaryCarrier::WebSocket : BinaryCarrier::Tcp;
  };
  BinaryEnd bystander(gateway, BinaryCarrier::Tcp, "bystander");
  welcome(gateway, bystander);
  std::vector<std::unique_ptr<BinaryEnd>> clients;
  for (std::size_t i = 0; i < 30; ++i) {
    clients.push_back(std::make_unique<BinaryEnd>(gateway, carrier_of(i), "m" + std::to_string(i)));
    if (i % 3 != 0) clients.back()->hello();
  }
  for (int round = 0; round < 20; ++round) {
    for (auto& client : clients) {
      if (!client->is_open) continue;
      Bytes garbage(random_below(random, 200));
      for (std::byte& each : garbage) each = static_cast<std::byte>(random.next_u64());
      const auto choice = random_below(random, 12);
      if (choice == 0) client->send(garbage);
      if (choice == 1) client->say_bytes(garbage);
      if (choice == 2) client->hello();
      if (choice == 3) {
        const PacketId say = PacketTraits<chat::Say>::descriptor().id;
        client->say({.kind = BinaryKind::OneWay, .packet = say, .body = garbage});
      }
      if (choice > 3) client->one_way(chat::Say{.text = "fine"});
    }
    gateway.run_for(3ms);
  }
  gateway.run_for(60s);
  clients.clear();
  gateway.run_for(60s);
  CHECK(gateway.server->metrics().handshakes.value() == 0);
  CHECK(gateway.server->session_count() == 1);
  CHECK(gateway.links.open_links() == 1);
  bystander.request(1, chat::Echo{.text = "well"});
  wait_for_heard(gateway, bystander, 2);
  CHECK(bystander.last().as<chat::Echoed>().text == "well");
}
