// A client's connection without a socket: what it makes of bytes and of time.
#include "client/conversation.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "support/manual_time.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_handshake.hpp"
#include "wire/websocket.hpp"
#include "zoo.packets.hpp"

using namespace spotmesh;
using namespace spotmesh::client;
using namespace std::chrono_literals;
using wire::BinaryFrame;
using wire::BinaryKind;
using wire::StreamForm;

namespace {

ClientOptions options_of_test() {
  return {.packets = zoo::packets(),
          .connect_timeout = 10s,
          .request_timeout = 20s,
          .heartbeat = 15s,
          .close_timeout = 2s};
}

// The server's end of a conversation over TCP, where frames are the shortest to write and to read.
class Talk {
 public:
  explicit Talk(ClientOptions options = options_of_test())
      : conversation(options, StreamForm::Tcp, random_, now) {
    conversation.on_open = [this] { seen.emplace_back("open"); };
    conversation.on_end = [this](const Ending& ending) {
      seen.push_back("end " + to_string(ending));
    };
    conversation.on_unread_push = [this](const Error& error) {
      seen.push_back("unread " + to_string(error));
    };
    conversation.on_push(PacketTraits<zoo::Lion>::descriptor(), [this](const Message& push) {
      seen.push_back("lion " + std::to_string(push.decode<zoo::Lion>()->roar));
    });
  }

  void say(const BinaryFrame& frame) {
    Bytes bytes;
    wire::append_length_prefix(
        bytes, static_cast<std::uint32_t>(wire::binary_header_bytes + frame.body.size()));
    wire::append_binary_frame(bytes, frame);
    hear(bytes);
  }
  void hear(ByteView bytes) {
    conversation.on_bytes(bytes, now);
    conversation.deliver_end();
  }
  void welcome(const wire::StreamWelcome& welcome = welcome_of_test()) {
    conversation.begin(now);
    const Bytes body = wire::write_stream_welcome(welcome);
    say({.kind = BinaryKind::Welcome, .body = body});
  }
  static wire::StreamWelcome welcome_of_test() {
    wire::StreamWelcome welcome;
    welcome.session = "5e55";
    welcome.message_bytes = 65'536;
    welcome.requests_in_flight = 4;
    return welcome;
  }
  template <Packet P>
  void push(const P& packet) {
    const Bytes body = PacketTraits<P>::encode(packet);
    say({.kind = BinaryKind::Push, .packet = PacketTraits<P>::descriptor().id, .body = body});
  }
  void reply(std::uint32_t seq, int roar) {
    const Bytes body = PacketTraits<zoo::Lion>::encode({.roar = roar});
    say({.kind = BinaryKind::Reply,
         .packet = PacketTraits<zoo::Lion>::descriptor().id,
         .seq = {seq},
         .body = body});
  }
  Result<void> ask(const std::string& name, Duration timeout = 20s) {
    return conversation.request(
        Message::of(zoo::Empty{}),
        [this, name](const Result<Message>& reply) {
          seen.push_back(name + " " +
                         (reply ? std::to_string(reply->decode<zoo::Lion>()->roar)
                                : std::string(to_string(reply.error().kind()))));
        },
        timeout, now);
  }
  void pass(Duration time) {
    now = now + time;
    conversation.tick(now);
    conversation.deliver_end();
  }
  // What the client has said since the last look, as kinds and bodies.
  std::vector<std::pair<BinaryKind, std::string>> said() {
    wire::LengthPrefixDecoder decoder({.min_frame_bytes = 12, .max_frame_bytes = 1 << 20});
    std::vector<std::pair<BinaryKind, std::string>> frames;
    ByteView output = conversation.output();
    const std::size_t bytes = output.size();
    for (auto event = decoder.next(output);
         event.kind == wire::LengthPrefixDecoder::Event::Kind::Frame;
         event = decoder.next(output)) {
      const auto frame = wire::parse_binary_frame(event.frame, wire::BinarySender::Client,
                                                  wire::BinaryCarrier::Tcp);
      REQUIRE(frame);
      frames.emplace_back(frame->kind, frame->kind == BinaryKind::Close
                                           ? std::to_string(frame->code)
                                           : std::string(as_text(frame->body)));
    }
    conversation.written(bytes);
    return frames;
  }
  using Seen = std::vector<std::string>;
  Seen take_seen() { return std::exchange(seen, {}); }

  Instant now{1h};

 private:
  testing::TestRandom random_{1};

 public:
  Conversation conversation;
  Seen seen;
};

}  // namespace

TEST_CASE("a client says Hello first, is open with Welcome, and may speak before it") {
  Talk talk;
  REQUIRE(talk.ask("first"));
  talk.conversation.begin(talk.now);
  CHECK(talk.conversation.state() == State::Connecting);
  const auto said = talk.said();
  REQUIRE(said.size() == 2);
  CHECK(said[0].first == BinaryKind::Hello);
  CHECK(said[1].first == BinaryKind::Request);
  const auto hello = wire::read_stream_hello(as_bytes(said[0].second));
  REQUIRE(hello);
  CHECK(hello->message_bytes == limits::mebibyte);
  CHECK_FALSE(hello->types.empty());
  talk.welcome();
  talk.reply(1, 7);
  CHECK(talk.seen == Talk::Seen{"open", "first 7"});
  CHECK(talk.conversation.session() == "5e55");
}

TEST_CASE("replies find their requests in whatever order they come") {
  Talk talk;
  talk.welcome();
  talk.take_seen();
  REQUIRE(talk.ask("a"));
  REQUIRE(talk.ask("b"));
  REQUIRE(talk.ask("c"));
  CHECK(talk.conversation.unanswered_requests() == 3);
  talk.reply(3, 30);
  talk.say({.kind = BinaryKind::ErrorReply, .code = 4, .seq = {1}, .body = as_bytes("no")});
  talk.push(zoo::Lion{.roar = 5});
  talk.reply(2, 20);
  CHECK(talk.seen == Talk::Seen{"c 30", "a Rejected", "lion 5", "b 20"});
  CHECK(talk.conversation.unanswered_requests() == 0);
}

TEST_CASE("a request ends at its deadline, and a reply that comes later is counted and dropped") {
  Talk talk;
  talk.welcome();
  talk.take_seen();
  REQUIRE(talk.ask("long", 10s));
  REQUIRE(talk.ask("short", 1s));
  CHECK(talk.conversation.next_tick() == talk.now + 1s);
  talk.pass(1s - 1ns);
  CHECK(talk.seen.empty());
  talk.pass(1ns);
  CHECK(talk.seen == Talk::Seen{"short DeadlineExceeded"});
  talk.reply(2, 2);
  CHECK(talk.conversation.late_replies() == 1);
  talk.reply(1, 1);
  CHECK(talk.seen == Talk::Seen{"short DeadlineExceeded", "long 1"});
}

TEST_CASE("a request may wait for ever") {
  Talk talk;
  talk.welcome();
  talk.take_seen();
  REQUIRE(talk.ask("patient", Duration::max()));
  talk.pass(1s);
  CHECK(talk.seen.empty());
  talk.reply(1, 1);
  CHECK(talk.seen == Talk::Seen{"patient 1"});
}

TEST_CASE("more requests than the server allows are refused and never called") {
  Talk talk;
  talk.welcome();
  talk.take_seen();
  for (const char* name : {"a", "b", "c", "d"}) REQUIRE(talk.ask(name));
  const auto refused = talk.ask("e");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::CapacityExceeded);
  talk.reply(1, 1);
  CHECK(talk.ask("f"));
  CHECK(talk.seen == Talk::Seen{"a 1"});
}

TEST_CASE("what waits to be sent is bounded, and so is one message") {
  auto options = options_of_test();
  options.outbound_bytes = 10'000;
  Talk talk(options);
  auto welcome = Talk::welcome_of_test();
  welcome.message_bytes = 5'000;
  talk.welcome(welcome);
  const auto fish = [](std::size_t bytes) {
    return Message::of(zoo::Fish{.name = std::string(bytes, 'f'), .tank = {}});
  };
  const auto long_one = talk.conversation.send(fish(5'000));
  REQUIRE_FALSE(long_one);
  CHECK_THAT(long_one.error().message(), Catch::Contains("the server takes 5000"));
  Result<void> sent;
  for (int i = 0; i < 20 && sent; ++i) sent = talk.conversation.send(fish(1'000));
  REQUIRE_FALSE(sent);
  CHECK(sent.error().kind() == ErrorKind::CapacityExceeded);
  CHECK(talk.conversation.output().size() <= 10'000);
  talk.said();
  CHECK(talk.conversation.send(fish(1'000)));
}

TEST_CASE("a silent server is pinged, and given up when it stays silent") {
  Talk talk;
  talk.welcome();
  talk.take_seen();
  talk.said();
  CHECK(talk.conversation.next_tick() == talk.now + 15s);
  SECTION("what it says is a sign of life") {
    talk.pass(15s);
    CHECK(talk.said() == std::vector<std::pair<BinaryKind, std::string>>{{BinaryKind::Ping, ""}});
    talk.pass(14s);
    talk.say({.kind = BinaryKind::Pong});
    talk.pass(14s);
    CHECK(talk.said().empty());
    CHECK(talk.conversation.state() == State::Open);
  }
  SECTION("silence is the end") {
    REQUIRE(talk.ask("lost", 1min));
    talk.pass(15s);
    talk.pass(15s);
    REQUIRE(talk.seen.size() == 2);
    CHECK(talk.seen[0] == "lost Unavailable");
    CHECK_THAT(talk.seen[1], Catch::Contains("1006") && Catch::Contains("30.0 s"));
    CHECK(talk.conversation.ending()->kind == ErrorKind::DeadlineExceeded);
  }
  SECTION("a program that has not polled for long asks before it judges") {
    talk.pass(1h);
    CHECK(talk.conversation.state() == State::Open);
    CHECK(talk.said().size() == 1);
  }
}

TEST_CASE("of many pings one is answered, and none while much waits to be sent") {
  Talk talk;
  talk.welcome();
  talk.said();
  Bytes pings;
  for (int i = 0; i < 1000; ++i) {
    wire::append_length_prefix(pings, 13);
    const std::string body(1, static_cast<char>('a' + i % 26));
    wire::append_binary_frame(pings, {.kind = BinaryKind::Ping, .body = as_bytes(body)});
  }
  talk.hear(pings);
  CHECK(talk.said() == std::vector<std::pair<BinaryKind, std::string>>{{BinaryKind::Pong, "l"}});
  while (talk.conversation.output().size() <= 64 * 1024) {
    REQUIRE(talk.conversation.send(
        Message::of(zoo::Fish{.name = std::string(10'000, 'f'), .tank = {}})));
  }
  const std::size_t waiting = talk.conversation.output().size();
  for (int i = 0; i < 1000; ++i) talk.hear(pings);
  CHECK(talk.conversation.output().size() == waiting);
  talk.said();
  talk.pass(1ms);
  CHECK(talk.said().size() == 1);
}

TEST_CASE("a server that does not let a client in is given up in time") {
  Talk talk;
  talk.conversation.begin(talk.now);
  REQUIRE(talk.ask("never", 1min));
  talk.pass(10s);
  REQUIRE(talk.seen.size() == 2);
  CHECK(talk.seen[0] == "never Unavailable");
  CHECK_THAT(talk.seen[1], Catch::Contains("did not let this client in within 10.0 s"));
}

TEST_CASE("a server's close is answered, and says whether to come back") {
  Talk talk;
  talk.welcome();
  talk.said();
  const auto [code, kind, may_return] = GENERATE(table<std::uint16_t, ErrorKind, bool>({
      {1001, ErrorKind::ShuttingDown, true},
      {1011, ErrorKind::InternalFailure, true},
      {4000, ErrorKind::Rejected, false},
      {4001, ErrorKind::ProtocolError, false},
      {4002, ErrorKind::CapacityExceeded, true},
      {4003, ErrorKind::Rejected, false},
      {4005, ErrorKind::DeadlineExceeded, true},
      {4006, ErrorKind::CapacityExceeded, true},
      {4008, ErrorKind::ProtocolError, false},
      {4999, ErrorKind::Unavailable, true},
  }));
  talk.say({.kind = BinaryKind::Close, .code = code, .body = as_bytes("why")});
  const Ending& ending = *talk.conversation.ending();
  CHECK(ending.code == code);
  CHECK(ending.reason == "why");
  CHECK(ending.kind == kind);
  CHECK(ending.may_return == may_return);
  CHECK(talk.said() ==
        std::vector<std::pair<BinaryKind, std::string>>{{BinaryKind::Close, std::to_string(code)}});
  const auto refused = talk.ask("late");
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message(), Catch::Contains("why"));
  // Nothing is heard any more.
  talk.take_seen();
  talk.push(zoo::Lion{.roar = 5});
  talk.pass(1h);
  CHECK(talk.seen.empty());
}

TEST_CASE("a client's own close waits for the server's, for a bounded time") {
  Talk talk;
  talk.welcome();
  REQUIRE(talk.ask("under way"));
  CHECK_FALSE(talk.conversation.close(1006, "", talk.now));
  CHECK_FALSE(talk.conversation.close(1000, std::string(124, 'x'), talk.now));
  CHECK_FALSE(talk.conversation.close(1000, "\xff", talk.now));
  REQUIRE(talk.conversation.close(4321, "enough", talk.now));
  CHECK(talk.said().back() == std::pair(BinaryKind::Close, std::string("4321")));
  CHECK(talk.ask("late").error().kind() == ErrorKind::Unavailable);
  talk.take_seen();
  talk.reply(1, 1);
  CHECK(talk.seen == Talk::Seen{"under way 1"});
  SECTION("the server closes as well") {
    talk.say({.kind = BinaryKind::Close, .code = 4321, .body = as_bytes("enough")});
    CHECK(talk.said().empty());
    CHECK(talk.seen.back() == "end 4321 unknown: enough");
  }
  SECTION("it does not") {
    talk.pass(2s);
    CHECK_THAT(talk.seen.back(), Catch::Contains("did not close in time"));
  }
}

TEST_CASE("a server that breaks the protocol is told so and left") {
  Talk talk;
  talk.conversation.begin(talk.now);
  talk.said();
  SECTION("a packet before Welcome") {
    talk.push(zoo::Lion{});
    CHECK_THAT(talk.seen.back(), Catch::Contains("Welcome must come first"));
  }
  SECTION("a Welcome of another version") {
    auto welcome = Talk::welcome_of_test();
    welcome.version = 2;
    talk.welcome(welcome);
    CHECK_THAT(talk.seen.back(), Catch::Contains("4008") && Catch::Contains("version 1"));
  }
  SECTION("two Welcomes") {
    talk.welcome();
    talk.welcome();
    CHECK_THAT(talk.seen.back(), Catch::Contains("Welcome is said once"));
  }
  SECTION("a Welcome that is none") {
    talk.say({.kind = BinaryKind::Welcome, .body = as_bytes("welcome!")});
    CHECK_THAT(talk.seen.back(), Catch::Contains("4001"));
  }
  SECTION("a length below that of a header") {
    Bytes bytes;
    wire::append_length_prefix(bytes, 11);
    talk.hear(bytes);
    CHECK_THAT(talk.seen.back(), Catch::Contains("4001"));
  }
  SECTION("a length of four gibibytes") {
    Bytes bytes;
    wire::append_length_prefix(bytes, 0xffff'ffff);
    talk.hear(bytes);
    CHECK_THAT(talk.seen.back(), Catch::Contains("1009"));
  }
  CHECK(talk.said().back().first == BinaryKind::Close);
  CHECK(talk.conversation.ending()->kind == ErrorKind::ProtocolError);
  CHECK_FALSE(talk.conversation.ending()->may_return);
}

TEST_CASE("a push that this program cannot read is reported, and the connection goes on") {
  Talk talk;
  talk.welcome();
  talk.take_seen();
  talk.say({.kind = BinaryKind::Push, .packet = {0xdead'beef}, .body = {}});
  talk.say({.kind = BinaryKind::Push,
            .packet = PacketTraits<zoo::Lion>::descriptor().id,
            .body = as_bytes("no lion")});
  talk.push(zoo::Empty{});  // readable, and nobody asked for it
  talk.push(zoo::Lion{.roar = 1});
  REQUIRE(talk.seen.size() == 3);
  CHECK_THAT(talk.seen[0], Catch::Contains("NotFound") && Catch::Contains("deadbeef"));
  CHECK_THAT(talk.seen[1], Catch::Contains("ProtocolError") && Catch::Contains("zoo.Lion"));
  CHECK(talk.seen[2] == "lion 1");
}

TEST_CASE("handlers may speak, set handlers and end the connection") {
  Talk talk;
  talk.welcome();
  talk.said();
  talk.take_seen();
  talk.conversation.on_push(PacketTraits<zoo::Lion>::descriptor(), [&talk](const Message&) {
    talk.conversation.on_push(PacketTraits<zoo::Lion>::descriptor(), [&talk](const Message&) {
      talk.conversation.cut("enough of lions");
    });
    REQUIRE(talk.ask("inside"));
  });
  talk.push(zoo::Lion{});
  CHECK(talk.said().size() == 1);
  talk.push(zoo::Lion{});
  CHECK(talk.said().empty());
  CHECK(talk.seen == Talk::Seen{"inside Unavailable", "end 1006 without a close: enough of lions"});
}

TEST_CASE("a handler for a packet that is none of the options' is a mistake of the program") {
  auto options = options_of_test();
  options.packets = {};
  testing::TestRandom random{1};
  Conversation conversation(options, StreamForm::Json, random, Instant{});
  CHECK_THROWS_AS(
      conversation.on_push(PacketTraits<zoo::Lion>::descriptor(), [](const Message&) {}),
      ConfigurationError);
  CHECK(conversation.send(Message::of(zoo::Lion{})).error().kind() == ErrorKind::NotFound);
}
