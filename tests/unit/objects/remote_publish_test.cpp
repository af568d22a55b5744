// Publications between nodes.
#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "checks.hpp"
#include "fenced_run.hpp"
#include "fixture.hpp"
#include "location/topic_record.hpp"
#include "objects/peer_port.hpp"
#include "objects/peer_topics.hpp"
#include "town.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

struct Towns {
  explicit Towns(unsigned count, std::uint64_t seed = 1, ObjectsConfig config = {}) : sim(seed) {
    configure_town(app, plot);
    for (unsigned i = 0; i < count; ++i) add(config);
  }
  TestNode& add(ObjectsConfig config = {}) {
    auto& node = nodes.emplace_back();
    node.emplace(sim, app, "n" + std::to_string(nodes.size()), std::move(config));
    REQUIRE(node->start().has_value());
    return *node;
  }
  TestNode& operator[](std::size_t index) { return *nodes.at(index); }
  void settle() { sim.run_for(200ms); }
  // What was sent to other nodes since the last call.
  std::int64_t copies() {
    std::int64_t all = 0;
    for (auto& node : nodes) all += node->metrics().publication_copies.value();
    return all - std::exchange(copies_, all);
  }
  std::size_t marks() { return sim.store.contents(location::keys::topic_prefix).size(); }

  Plot plot;
  Application app;
  TestWorld sim;
  std::deque<std::optional<TestNode>> nodes;

 private:
  std::int64_t copies_ = 0;
};

}  // namespace

TEST_CASE("a publication reaches each subscribed Spot of each node once, one copy to each node",
          "[PUB-01][PUB-02]") {
  Towns towns(4);
  towns[0].room("a", "theatre");
  towns[1].room("b", "theatre");
  towns[1].room("c", "theatre");
  towns[1].room("d", "cellar");
  towns[2].room("e", "cellar");
  towns[2].room("red", "room");
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "x"}).has_value());
  towns.settle();
  CHECK(towns.plot.take_sorted() == Lines{"a win x", "b win x", "c win x", "d win x", "e win x"});
  CHECK(towns.copies() == 2);
  REQUIRE(publish(towns[3], "loss", probe::Note{.text = "y"}).has_value());
  towns.settle();
  CHECK(towns.plot.take_sorted() == Lines{"a loss y", "b loss y", "c loss y"});
  CHECK(towns.copies() == 2);
  REQUIRE(publish(towns[1], "holiday", probe::Note{.text = "May"}).has_value());
  towns.settle();
  CHECK(towns.plot.take() == Lines(4, "square May"));
  CHECK(towns.copies() == 3);
  REQUIRE(publish(towns[1], "draw", probe::Note{}).has_value());
  CHECK(towns.copies() == 0);
}

TEST_CASE("a Spot gets what is published after its creation, and nothing after its end",
          "[PUB-01][PUB-02]") {
  Towns towns(2);
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "early"}).has_value());
  for (int round = 0; round < 3; ++round) {
    const SpotRef a = towns[1].room("a", "theatre");
    REQUIRE(publish(towns[0], "win", probe::Note{.text = "now"}).has_value());
    towns.settle();
    CHECK(towns.plot.take() == Lines{"a win now"});
    CHECK(towns.copies() == 1);
    REQUIRE(towns[1].close(a) == Result<bool>(true));
    towns.settle();
    REQUIRE(publish(towns[0], "win", probe::Note{.text = "late"}).has_value());
    towns.settle();
    CHECK(towns.plot.take().empty());
    CHECK(towns.copies() == 0);
  }
}

TEST_CASE("whoever begins at the same time, a created Spot misses no later publication",
          "[PUB-01]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Towns towns(2, seed);
    const auto early = towns[0].begin<Result<void>>([](Context& context) {
      return context.publish("news", "win", probe::Note{.text = "early"}).submit();
    });
    towns.sim.run_for(std::chrono::microseconds(seed * 101 % 4000));
    towns[1].room("a", "theatre");
    REQUIRE(publish(towns[0], "win", probe::Note{.text = "now"}).has_value());
    towns.settle();
    INFO("seed " << seed);
    REQUIRE(early->has_value());
    CHECK((*early)->has_value());
    CHECK(towns.plot.count("a win now") == 1);
    CHECK(towns.plot.count("a win early") <= 1);
  }
}

TEST_CASE("publications that wait for their audience keep their order", "[PUB-01]") {
  Towns towns(2);
  towns[1].room("a", "theatre");
  const auto sent = towns[0].begin<Result<void>>([](Context& context) -> Task<Result<void>> {
    std::vector<Task<Result<void>>> pending;
    for (int i = 0; i < 40; ++i) {
      pending.push_back(
          context.publish("news", "win", probe::Note{.text = std::to_string(i)}).submit());
      if (i % 8 == 7) {
        auto done = co_await std::move(pending[static_cast<std::size_t>(i - 7)]);
        if (!done) co_return done;
      }
    }
    co_return Result<void>();
  });
  towns.settle();
  REQUIRE(sent->has_value());
  REQUIRE((*sent)->has_value());
  Lines expected;
  for (int i = 0; i < 40; ++i) expected.push_back("a win " + std::to_string(i));
  CHECK(towns.plot.take() == expected);
}

TEST_CASE("steady publishing asks nothing of the store", "[PUB-02]") {
  Towns towns(2);
  towns[1].room("a", "theatre");
  REQUIRE(publish(towns[0], "win", probe::Note{}).has_value());
  towns.sim.run_for(5s);  // past whatever the first one began
  const auto cost = [&] {
    return towns[0].metrics().store_commits.value() + towns[0].metrics().store_reads.value();
  };
  const auto measure = [&](const std::function<void()>& act) {
    const std::int64_t before = cost();
    const Instant end = towns.sim.world.now() + 20s;
    while (towns.sim.world.now() < end) {
      act();
      towns.sim.run_for(50ms);
    }
    return cost() - before;
  };
  const std::int64_t idle = measure([] {});
  const std::int64_t busy =
      measure([&] { REQUIRE(publish(towns[0], "win", probe::Note{}).has_value()); });
  CHECK(busy <= idle + 3);  // the beats of 20 s fall as they fall
  CHECK(towns.plot.heard.size() > 300);
}

TEST_CASE("a topic that is idle is forgotten and learned again", "[PUB-02]") {
  Towns towns(2);
  towns[1].room("a", "theatre");
  towns[1].room("b", "cellar");
  const std::size_t before = towns.marks();
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "1"}).has_value());
  CHECK(towns.marks() == before + 1);
  towns.sim.run_for(limits::published_topic_idle_time * 2);
  CHECK(towns.marks() == before);
  towns[1].room("c", "theatre");
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "2"}).has_value());
  towns.settle();
  CHECK(towns.plot.take_sorted() == Lines{"a win 1", "a win 2", "b win 1", "b win 2", "c win 2"});
}

TEST_CASE("a clean stop takes subscriptions and marks with it", "[PUB-01][PUB-02]") {
  Towns towns(3);
  towns[1].room("a", "theatre");
  towns[2].room("b", "theatre");
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "1"}).has_value());
  towns.settle();
  CHECK(towns.copies() == 2);
  towns[2].stop();
  towns.sim.run_for(1s);
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "2"}).has_value());
  towns.settle();
  CHECK(towns.plot.take_sorted() == Lines{"a win 1", "a win 2", "b win 1"});
  CHECK(towns.copies() == 1);
  CHECK(towns[0].metrics().missed_publications.value() == 0);
  towns[0].stop();
  towns[1].stop();
  CHECK(towns.marks() == 0);
}

TEST_CASE("the subscriptions of a node that died end with its lease", "[PUB-01][PUB-02]") {
  Towns towns(3);
  towns[1].room("a", "theatre");
  towns[2].room("b", "theatre");
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "1"}).has_value());
  towns.settle();
  towns[2].crash();
  towns.sim.run_for(60s);
  towns.copies();
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "2"}).has_value());
  towns.settle();
  CHECK(towns.copies() == 1);
  CHECK(towns.plot.take_sorted() == Lines{"a win 1", "a win 2", "b win 1"});
  // Whoever publishes next does not wait for it, and clears its mark away.
  const std::size_t before = towns.marks();
  REQUIRE(publish(towns[1], "loss", probe::Note{.text = "3"}).has_value());
  towns.settle();
  CHECK(towns.plot.take() == Lines{"a loss 3"});
  CHECK(towns.marks() == before);  // one mark went, one came
}

TEST_CASE("a store that is away lets this node's subscribers hear, and names the failure",
          "[PUB-03]") {
  Towns towns(2);
  towns[0].room("a", "theatre");
  towns[1].room("b", "theatre");
  towns.sim.store.set_available(false);
  check_error(publish(towns[0], "win", probe::Note{.text = "1"}), ErrorKind::Unavailable,
              "could not be learned in time");
  CHECK(towns.plot.take() == Lines{"a win 1"});
  towns.sim.store.set_available(true);
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "2"}).has_value());
  towns.settle();
  CHECK(towns.plot.take_sorted() == Lines{"a win 2", "b win 2"});
  towns.sim.store.set_available(false);
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "3"}).has_value());
  towns.settle();
  CHECK(towns.plot.take_sorted() == Lines{"a win 3", "b win 3"});
}

TEST_CASE("publishers and subscribers find each other in a store that forgot", "[PUB-01]") {
  Towns towns(3);
  towns[1].room("a", "theatre");
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "1"}).has_value());
  const std::size_t before = towns.marks();
  towns.sim.store.fail_over(100s);
  towns.sim.run_for(40s);
  CHECK(towns.marks() == before);
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "2"}).has_value());
  towns[2].room("b", "theatre");
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "3"}).has_value());
  towns.settle();
  CHECK(towns.plot.count("a win 2") == 1);
  CHECK(towns.plot.count("a win 3") == 1);
  CHECK(towns.plot.count("b win 3") == 1);
}

TEST_CASE(
    "a publisher that cannot be reached delays a creation for a second, and hears of it later",
    "[PUB-01]") {
  Towns towns(2);
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "1"}).has_value());
  towns.settle();
  towns.sim.network.partition(towns[0].sim(), towns[1].sim());
  const Instant before = towns.sim.world.now();
  towns[1].room("a", "theatre");
  CHECK(towns.sim.world.now() - before < limits::subscription_notice_timeout + 500ms);
  towns.sim.network.heal(towns[0].sim(), towns[1].sim());
  towns.sim.run_for(15s);
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "2"}).has_value());
  towns.settle();
  CHECK(towns.plot.take() == Lines{"a win 2"});
}

TEST_CASE("a subscriber that cannot be reached is left out, and looked for until it can",
          "[PUB-02][PUB-03]") {
  Towns towns(2);
  // A run that holds a lease and has a subscriber, but has not said where it is.
  location::OwnerStamp ghost{.owner = *location::OwnerId::parse("ghost-1"),
                             .lease_generation = LeaseGeneration{1},
                             .rid = NodeRid{"ghost-1"},
                             .lifecycle = LifecycleId{8, 9}};
  const location::TopicName topic{"play", "news", "win"};
  const auto writer = towns.sim.store.connect("ghost");
  const auto put = [&](const std::string& key, Bytes value) {
    bool is_done = false;
    writer->commit({.epoch = {}, .conditions = {}, .writes = {{key, std::move(value)}}},
                   [&](const location::CommitResult&) { is_done = true; });
    REQUIRE(towns.sim.world.run_until([&] { return is_done; }, 5s) == testing::SimOutcome::Done);
  };
  put(location::keys::lease(ghost.owner), encode(location::LeaseRecord{.stamp = ghost}));
  put(location::keys::topic_mark(topic, location::TopicSide::Subscribers, ghost.rid),
      encode(location::TopicMark{ghost, topic}));
  towns[1].room("a", "theatre");
  for (int i = 0; i < 5; ++i) {
    REQUIRE(publish(towns[0], "win", probe::Note{.text = "x"}).has_value());
    towns.sim.run_for(1s);
  }
  CHECK(towns.plot.take() == Lines(5, "a win x"));
  CHECK(towns.copies() == 5);
  CHECK(towns[0].metrics().missed_publications.value() == 0);

  put(location::keys::node(ghost.rid),
      encode(location::NodeDescriptor{.stamp = ghost,
                                      .is_stream_gateway = false,
                                      .application_version = {},
                                      .state = location::HostState::Serving,
                                      .advertised_address = "ghost:1",
                                      .meshes = {}}));
  towns.sim.run_for(3s);
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "y"}).has_value());
  CHECK(towns.copies() == 2);
}

TEST_CASE("a Spot that was not accepted leaves no subscription", "[PUB-01][PUB-02]") {
  Towns towns(2);
  const std::size_t before = towns.marks();
  towns.plot.accepts_rooms = false;
  const auto refused = towns[1].call<Result<SpotCreateResult>>(
      [](Context& context) { return context.spots().get_or_create("a", "theatre").submit(); });
  REQUIRE(refused.has_value());
  CHECK(std::holds_alternative<Rejected>(*refused));
  REQUIRE(publish(towns[0], "win", probe::Note{}).has_value());
  towns.settle();
  CHECK(towns.copies() == 0);
  CHECK(towns.marks() == before + 1);  // the publisher's
}

TEST_CASE("bytes of anybody about topics are refused when they are unsound, and break nothing",
          "[PUB-01]") {
  Towns towns(2);
  towns[1].room("a", "theatre");
  PeerPort& port = *towns[1].core().peers;
  const mesh::Peer from = towns[0].self();
  const auto unsound = [&] { return towns[1].metrics().unsound_peer_messages.value(); };
  const auto receive = [&](Bytes bytes) {
    port.on_message(from, mesh::Lane::Messages, SharedBytes(std::move(bytes)));
    towns.sim.run_for(1ms);
  };
  const auto bytes_of = [](PeerKind kind, const flatbuffers::FlatBufferBuilder& body) {
    const SharedBytes shared = peer_bytes(kind, 0, &body);
    return Bytes(shared.view().begin(), shared.view().end());
  };
  const TopicKey key{"play", {"news", "win"}};
  const Message note = Message::of(probe::Note{.text = "x"});
  const std::string longest(max_id_bytes + 1, 'x');
  for (const TopicKey& wrong :
       {TopicKey{"", {"news", "win"}}, TopicKey{"play", {"", "win"}},
        TopicKey{"play", {"news", longest}}, TopicKey{"play", {"\xff", "win"}}}) {
    const std::int64_t before = unsound();
    receive(bytes_of(PeerKind::Publication, publication(wrong, note)));
    receive(bytes_of(PeerKind::TopicChange, topic_change(wrong, true)));
    CHECK(unsound() == before + 2);
  }
  for (const Bytes& whole : {bytes_of(PeerKind::Publication, publication(key, note)),
                             bytes_of(PeerKind::TopicChange, topic_change(key, true))}) {
    for (std::size_t size = peer_header_bytes; size < whole.size(); size += 3) {
      receive(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    }
    for (std::size_t i = peer_header_bytes; i < whole.size(); ++i) {
      Bytes damaged = whole;
      damaged[i] ^= std::byte{0x81};
      receive(std::move(damaged));
    }
  }
  CHECK(unsound() > 50);
  towns.plot.take();
  receive(bytes_of(PeerKind::Publication, publication(key, note)));
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "y"}).has_value());
  towns.settle();
  CHECK(towns.plot.count("a win x") == 1);
  CHECK(towns.plot.count("a win y") == 1);
}

TEST_CASE("a publication whose packet is not known at a node harms nobody", "[PUB-03]") {
  Towns towns(2);
  towns[1].room("a", "theatre");
  PacketDescriptor stranger = PacketTraits<probe::Note>::descriptor();
  stranger.id = PacketId{0x12345678};
  stranger.name = "probe.Stranger";
  const Message message(stranger, SharedBytes(Bytes(8)));
  REQUIRE(towns[0]
              .call<Result<void>>([&](Context& context) {
                return context.publish("news", "win", message).submit();
              })
              .has_value());
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "y"}).has_value());
  towns.settle();
  CHECK(towns.plot.take() == Lines{"a win y"});
}

TEST_CASE("a publisher that reads of a subscriber's fence takes nothing from it", "[RACE-12]") {
  Towns towns(2);
  FencedRun ghost(towns.sim);
  const location::TopicName topic{"play", "news", "win"};
  const std::string mark =
      location::keys::topic_mark(topic, location::TopicSide::Subscribers, ghost.stamp.rid);
  ghost.write(mark, encode(location::TopicMark{ghost.stamp, topic}));
  towns[1].room("a", "theatre");
  REQUIRE(publish(towns[0], "win", probe::Note{.text = "x"}).has_value());
  towns.settle();
  CHECK(towns.plot.take() == Lines{"a win x"});
  CHECK(towns[0].mesh().is_over(ghost.peer()));
  CHECK(towns.sim.store.contents(mark).empty());
}
