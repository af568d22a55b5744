// Whole nodes that publish to each other while booths open and close and the store stumbles.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <spotmesh/spotmesh.hpp>
#include <spotmesh/testing/cluster.hpp>

#include "news.packets.hpp"

using namespace spotmesh;
using namespace std::chrono_literals;
using spotmesh::testing::Cluster;
using spotmesh::testing::SimStreamClient;

namespace {

// What each booth has heard, in order.
using Heard = std::map<std::string, std::vector<std::string>>;

struct Reader : Actor {
  using Actor::Actor;
};

struct Market : EntrySpot<Reader> {
  using EntrySpot::EntrySpot;
};

struct Booth : UserSpot<Reader> {
  Booth(SpotContext& context, Heard& heard) : UserSpot(context), heard_(heard) {}
  static void handlers(Handlers<Booth>& on) { on.subscribe("news", "flash", &Booth::hear); }
  void hear(const news::Flash& flash) { heard_[context().spot_id().text()].push_back(flash.text); }

 private:
  Heard& heard_;
};

struct Editor : Session {
  using Session::Session;
  static void handlers(SessionHandlers<Editor>& on) {
    on.request(&Editor::publish);
    on.request(&Editor::open);
    on.request(&Editor::close);
  }
  Task<Result<news::Published>> publish(const news::Publish& wish) {
    auto done =
        co_await context().publish("news", "flash", news::Flash{.text = wish.text}).submit();
    if (!done) co_return fail(done.error());
    co_return news::Published{};
  }
  Task<Result<news::Opened>> open(const news::Open& wish) {
    auto booth = co_await context().spots().get_or_create(wish.booth, "booth").submit();
    if (!booth) co_return fail(booth.error());
    refs_.insert_or_assign(wish.booth, std::get<SpotCreated>(*booth).spot);
    co_return news::Opened{};
  }
  Task<Result<news::Closed>> close(const news::Close& wish) {
    auto closed = co_await context().spots().close(refs_.at(wish.booth));
    if (!closed) co_return fail(closed.error());
    co_return news::Closed{};
  }

 private:
  std::map<std::string, SpotRef> refs_;
};

// Three nodes, an editor at each, and what must have been heard.
struct Press {
  static constexpr unsigned nodes = 3;

  explicit Press(std::uint64_t seed)
      : dice(seed * 7919),
        cluster(
            [this](Application& app) {
              app.packets(news::packets());
              auto& play = app.mesh("play").object_server();
              play.entry_spot<Market>();
              play.user_spot<Booth>("booth", [this](auto& factory) {
                factory.disable_relocation().create_with([this](SpotContext& context) {
                  return std::make_unique<Booth>(context, heard);
                });
              });
              app.stream("gateway").session<Editor>();
            },
            {.seed = seed, .nodes = nodes}) {
    for (unsigned node = 0; node < nodes; ++node) {
      editors.push_back(std::move(*cluster.connect(node)));
    }
  }

  unsigned throw_dice(unsigned sides) {
    dice = dice * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<unsigned>((dice >> 33) % sides);
  }
  template <typename Reply, typename P>
  bool ask(unsigned editor, const P& packet) {
    std::optional<Result<Reply>> answer;
    editors[editor].request<Reply>(packet, [&](Result<Reply> reply) { answer = std::move(reply); });
    INFO(cluster.trace());
    REQUIRE(cluster.run_until([&] { return answer.has_value(); }));
    return answer->has_value();
  }

  void open() {
    const unsigned editor = throw_dice(nodes);
    const std::string booth = "booth-" + std::to_string(++booths);
    if (ask<news::Opened>(editor, news::Open{.booth = booth})) living.emplace(booth, editor);
  }
  void close() {
    if (living.empty()) return;
    const auto [booth, editor] =
        *std::next(living.begin(), throw_dice(static_cast<unsigned>(living.size())));
    living.erase(booth);
    cluster.run_for(100ms);  // what it must have heard is there
    ask<news::Closed>(editor, news::Close{.booth = booth});
  }
  void publish() {
    const unsigned editor = throw_dice(nodes);
    const std::string text = std::to_string(editor) + ":" + std::to_string(1000 + ++flashes);
    std::set<std::string> audience;
    for (const auto& [booth, opener] : living) audience.insert(booth);
    if (!ask<news::Published>(editor, news::Publish{.text = text})) return;
    for (const std::string& booth : audience) expected.emplace_back(booth, text);
    cluster.run_for(std::chrono::microseconds(throw_dice(3000)));
  }
  void act() {
    const unsigned choice = throw_dice(6);
    if (choice == 0) return open();
    if (choice == 1) return close();
    publish();
  }

  void check() {
    cluster.run_for(2s);
    INFO(cluster.trace());
    for (const auto& [booth, text] : expected) {
      INFO(booth << " and " << text);
      CHECK(std::ranges::count(heard[booth], text) == 1);
    }
    for (const auto& [booth, texts] : heard) {
      INFO(booth);
      std::map<char, std::string> last;  // of each editor
      for (const std::string& text : texts) {
        CHECK(last[text.front()] < text);  // in order, and none twice
        last[text.front()] = text;
      }
    }
    for (const std::string& violation : cluster.violations()) FAIL_CHECK(violation);
  }

  std::uint64_t dice;
  Heard heard;
  std::map<std::string, unsigned> living;  // with who opened it
  std::vector<std::pair<std::string, std::string>> expected;
  unsigned booths = 0;
  unsigned flashes = 0;
  Cluster cluster;
  std::vector<SimStreamClient> editors;
};

}  // namespace

TEST_CASE("every booth that is open hears each flash once, in order, while the store stumbles",
          "[PUB-01]") {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    Press press(seed);
    press.cluster.set_store_faults(30, 30);
    for (int step = 0; step < 60; ++step) press.act();
    press.cluster.set_store_faults(0, 0);
    press.check();
    CHECK(press.expected.size() > 10);
  }
}

TEST_CASE("a node that comes again hears and publishes as a new one", "[PUB-01][PUB-02]") {
  Press press(3);
  for (int step = 0; step < 20; ++step) press.act();
  press.check();
  press.expected.clear();
  press.living.clear();  // some of them have died
  press.cluster.restart(2);
  REQUIRE(press.cluster.run_until([&] { return press.cluster.is_serving(2); }));
  press.cluster.run_for(60s);
  press.editors[2] = std::move(*press.cluster.connect(2));
  for (int step = 0; step < 40; ++step) press.act();
  press.check();
  CHECK(press.expected.size() > 10);
}
