// Pushes that a client which does not keep up may miss.
#include "stream/perishable_frames.hpp"

#include "gateway_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::stream;

namespace {

constexpr PacketId positions{1};
constexpr PacketId sounds{2};
constexpr PerishablePush latest{.packet = positions, .only_latest = true};
constexpr PerishablePush short_lived{.packet = sounds, .drop_after = 1s};

SharedBytes frame_of(std::string_view text) { return SharedBytes(to_bytes(text)); }

std::vector<std::string> texts_of(const std::vector<SharedBytes>& frames) {
  std::vector<std::string> texts;
  for (const SharedBytes& frame : frames) texts.emplace_back(as_text(frame.view()));
  return texts;
}

using Texts = std::vector<std::string>;

// A client whose connection has a backlog, after which nothing more fits in.
class StalledClient {
 public:
  explicit StalledClient(GatewayFixture& gateway)
      : gateway_(gateway), client(gateway.connect_bound("ada", {"player"})) {
    client.on_push<chat::Notice>([this](const chat::Notice& notice) {
      if (notice.number != 0) heard.push_back("notice " + std::to_string(notice.number));
    });
    client.on_push<chat::Position>([this](const chat::Position& position) {
      heard.push_back("position " + std::to_string(position.number));
    });
    client.on_push<chat::Sound>([this](const chat::Sound& sound) {
      heard.push_back("sound " + std::to_string(sound.number));
    });
    client.stop_reading();
    for (int i = 0; i < 5; ++i) {
      REQUIRE(gateway.push("player", chat::Notice{.text = std::string(30'000, 'x')}));
      gateway.run_for(100ms);
    }
  }

  void read_on() {
    client.start_reading();
    gateway_.run_for(1s);
  }

 private:
  GatewayFixture& gateway_;

 public:
  SimStreamClient client;
  Texts heard;
};

}  // namespace

TEST_CASE("of a packet whose latest matters only the newest waits") {
  StreamMetrics metrics;
  PerishableFrames frames(1000, metrics);
  std::vector<SharedBytes> out;
  for (const char* text : {"a", "b", "c"}) frames.keep(latest, frame_of(text), {0s}, out);
  frames.keep(short_lived, frame_of("s"), {0s}, out);
  frames.keep(latest, frame_of("d"), {0s}, out);
  CHECK(out.empty());
  CHECK(frames.bytes() == 2);
  frames.take({0s}, out);
  CHECK(texts_of(out) == Texts{"s", "d"});
  CHECK(metrics.pushes_superseded.value() == 3);
  CHECK(frames.empty());
  CHECK(frames.bytes() == 0);
}

TEST_CASE("what waits longer than its packet says is not sent") {
  StreamMetrics metrics;
  PerishableFrames frames(1000, metrics);
  std::vector<SharedBytes> out;
  frames.keep(short_lived, frame_of("a"), {0s}, out);
  frames.keep(short_lived, frame_of("b"), {500ms}, out);
  frames.keep({.packet = positions, .only_latest = true, .drop_after = 600ms}, frame_of("c"),
              {500ms}, out);
  frames.take({1s}, out);
  CHECK(texts_of(out) == Texts{"b", "c"});
  CHECK(metrics.pushes_stale.value() == 1);
}

TEST_CASE("what waits is bounded: the oldest go first, in their order") {
  StreamMetrics metrics;
  PerishableFrames frames(3, metrics);
  std::vector<SharedBytes> out;
  for (const char* text : {"a", "b", "c", "d", "e"}) {
    frames.keep(short_lived, frame_of(text), {0s}, out);
  }
  CHECK(texts_of(out) == Texts{"a", "b"});
  frames.take({0s}, out);
  CHECK(texts_of(out) == Texts{"a", "b", "c", "d", "e"});
}

TEST_CASE("a client that keeps up gets every push, of whatever packet, in order") {
  GatewayFixture gateway;
  SimStreamClient client = gateway.connect_bound("ada", {"player"});
  std::vector<int> heard;
  client.on_push<chat::Position>([&](const chat::Position& each) { heard.push_back(each.number); });
  client.on_push<chat::Sound>([&](const chat::Sound& each) { heard.push_back(each.number); });
  for (int i = 0; i < 100; ++i) {
    const auto pushed = i % 2 == 0 ? gateway.push("player", chat::Position{.number = i})
                                   : gateway.push("player", chat::Sound{.number = i});
    REQUIRE(pushed);
  }
  gateway.wait_for([&] { return heard.size() == 100; });
  for (int i = 0; i < 100; ++i) CHECK(heard[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("a slow client gets the newest state and all that is reliable, instead of a disconnect",
          "[BIND-10]") {
  GatewayFixture gateway({}, {.socket_buffer_bytes = 4096});
  StalledClient slow(gateway);
  // Three times what would end it if it had to wait.
  const std::string large(10'000, 'p');
  for (int i = 1; i <= 600; ++i) {
    REQUIRE(gateway.push("player", chat::Position{.number = i, .text = large}));
    if (i % 200 == 0) REQUIRE(gateway.push("player", chat::Notice{.number = i}));
    if (i == 100 || i == 590) REQUIRE(gateway.push("player", chat::Sound{.number = i}));
    gateway.run_for(10ms);
  }
  CHECK(slow.client.is_open());
  slow.read_on();
  CHECK(slow.heard == Texts{"notice 200", "notice 400", "notice 600", "sound 590", "position 600"});
  CHECK(gateway.server->metrics().pushes_superseded.value() == 599);
  CHECK(gateway.server->metrics().pushes_stale.value() == 1);
  // It keeps up again.
  REQUIRE(gateway.push("player", chat::Position{.number = 601}));
  REQUIRE(gateway.push("player", chat::Position{.number = 602}));
  gateway.run_for(1s);
  CHECK(slow.heard.size() == 7);
}

TEST_CASE("pushes that may be missed do not keep a client that never reads") {
  GatewayFixture gateway({}, {.socket_buffer_bytes = 4096});
  StalledClient slow(gateway);
  for (int i = 0; i < 60 && gateway.server->session_count() == 1; ++i) {
    slow.client.send(chat::Say{.text = "here"});
    static_cast<void>(gateway.push("player", chat::Position{.number = i}));
    gateway.run_for(1s);
  }
  CHECK(gateway.server->metrics().closed_slow.value() == 1);
}
