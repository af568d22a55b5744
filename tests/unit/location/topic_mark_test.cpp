// Marks of topics: those who publish and those who have subscribed find each other.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "location/topic_mark.hpp"
#include "machine_rig.hpp"
#include "sample_records.hpp"
#include "test_cluster.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;

namespace {

const TopicName topic{"play", "news", "win"};

// One mark of one node, and what its machine has said.
struct Marking {
  Marking(Cluster& cluster, TestNode& node, TopicSide side)
      : machine(topic, side, node.view(), cluster.random),
        rig(machine, node.client(), cluster.time) {
    rig.on_action = [this](const topic_mark::Action& action) {
      if (const auto* said = std::get_if<topic_mark::Standing>(&action)) {
        standing.push_back(names(said->others));
      } else if (const auto* gone = std::get_if<topic_mark::Cleared>(&action)) {
        cleared.push_back(names(gone->others));
      } else if (std::holds_alternative<topic_mark::Delayed>(action)) {
        ++delays;
      } else if (const auto* bad = std::get_if<topic_mark::BadRecord>(&action)) {
        bad_records.push_back(bad->error.message());
      }
    };
  }
  static std::string names(const std::vector<OwnerStamp>& stamps) {
    std::string all;
    for (const OwnerStamp& stamp : stamps) all += stamp.rid.text + ' ';
    return all;
  }
  void set() { rig.feed(topic_mark::Set{}); }
  void clear() { rig.feed(topic_mark::Clear{}); }
  void assert_again() { rig.feed(topic_mark::Assert{}); }

  TopicMarkMachine machine;
  MachineRig<TopicMarkMachine, topic_mark::Event, topic_mark::Action> rig;
  std::vector<std::string> standing;
  std::vector<std::string> cleared;
  std::vector<std::string> bad_records;
  int delays = 0;
};

using Names = std::vector<std::string>;

struct Rendezvous {
  explicit Rendezvous(std::uint64_t seed = 1) : cluster(3, seed) {}
  std::size_t marks() const { return cluster.store.contents(keys::topic_prefix).size(); }
  void put(const std::string& key, Bytes value) {
    bool is_done = false;
    cluster[2].client().commit({.epoch = {}, .conditions = {}, .writes = {{key, std::move(value)}}},
                               [&](const CommitResult&) { is_done = true; });
    while (!is_done) REQUIRE(cluster.time.run_next());
  }
  void settle() { cluster.time.run_for(3s); }

  Cluster cluster;
  Marking publisher{cluster, cluster[0], TopicSide::Publishers};
  Marking subscriber{cluster, cluster[1], TopicSide::Subscribers};
};

}  // namespace

TEST_CASE("a topic's mark survives its encoding, and anything else is refused") {
  const NodeRid node{"a"};
  const std::string key = keys::topic_mark(topic, TopicSide::Subscribers, node);
  const TopicMark mark{stamp_of("a", 7), topic};
  const Bytes bytes = encode(mark);
  CHECK(decode_topic_mark(key, bytes).value() == mark);
  CHECK_FALSE(decode_topic_mark(key + "b", bytes).has_value());
  CHECK_FALSE(decode_topic_mark(key, encode(TopicMark{stamp_of("a", 0), topic})).has_value());
  CHECK_FALSE(decode_topic_mark(key, encode(TopicMark{mark.stamp, {"play", "", "x"}})).has_value());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode_topic_mark(key, ByteView(bytes).first(size)).has_value());
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes damaged = bytes;
    damaged[i] ^= std::byte{0x40};
    CHECK_FALSE(decode_topic_mark(key, damaged).has_value());
  }
}

TEST_CASE("each topic and side has marks of its own, in keys that fit") {
  const std::string longest(max_id_bytes, 'x');
  const NodeRid node{std::string(64, 'n') + "-01234567-89ab-4def-8123-456789abcdef"};
  const TopicName long_topic{longest, longest, longest};
  CHECK(keys::topic_mark(long_topic, TopicSide::Publishers, node).size() <= max_store_key_bytes);
  CHECK(keys::topic_marks({"a", "bc", "d"}, TopicSide::Publishers) !=
        keys::topic_marks({"ab", "c", "d"}, TopicSide::Publishers));
  CHECK(keys::topic_marks(topic, TopicSide::Publishers) !=
        keys::topic_marks(topic, TopicSide::Subscribers));
}

TEST_CASE("who comes later sees who was there before", "[PUB-02]") {
  Rendezvous meeting;
  meeting.publisher.set();
  meeting.settle();
  CHECK(meeting.publisher.standing == Names{""});
  meeting.subscriber.set();
  meeting.settle();
  CHECK(meeting.subscriber.standing == Names{"a "});
  Marking late(meeting.cluster, meeting.cluster[2], TopicSide::Publishers);
  late.set();
  meeting.settle();
  CHECK(late.standing == Names{"b "});
  CHECK(meeting.marks() == 3);
}

TEST_CASE("of two who come at the same time at least one sees the other", "[PUB-01]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Rendezvous meeting(seed);
    meeting.publisher.set();
    meeting.cluster.time.run_for(std::chrono::microseconds(seed * 37 % 5000));
    meeting.subscriber.set();
    meeting.settle();
    REQUIRE(meeting.publisher.standing.size() == 1);
    REQUIRE(meeting.subscriber.standing.size() == 1);
    INFO("seed " << seed);
    CHECK((meeting.publisher.standing.front() == "b " ||
           meeting.subscriber.standing.front() == "a "));
  }
}

TEST_CASE("a mark that is cleared is gone, and a subscriber then reads whom to tell", "[PUB-02]") {
  Rendezvous meeting;
  meeting.publisher.set();
  meeting.subscriber.set();
  meeting.settle();
  meeting.subscriber.clear();
  meeting.settle();
  CHECK(meeting.subscriber.cleared == Names{"a "});
  CHECK(meeting.subscriber.machine.is_at_rest());
  CHECK(meeting.marks() == 1);
  meeting.publisher.clear();
  meeting.settle();
  CHECK(meeting.publisher.cleared == Names{""});
  CHECK(meeting.marks() == 0);
  CHECK_FALSE(meeting.publisher.machine.mark().has_value());
}

TEST_CASE("a mark that is wanted again while it goes is there in the end") {
  Rendezvous meeting;
  meeting.subscriber.set();
  meeting.settle();
  meeting.subscriber.clear();
  meeting.subscriber.set();
  meeting.settle();
  CHECK(meeting.subscriber.standing == Names{"", ""});
  CHECK(meeting.subscriber.cleared.empty());
  CHECK(meeting.marks() == 1);
  // And the other way round.
  meeting.publisher.set();
  meeting.publisher.clear();
  meeting.settle();
  CHECK(meeting.publisher.standing.empty());
  CHECK(meeting.marks() == 1);
  CHECK(meeting.publisher.machine.is_at_rest());
}

TEST_CASE("who changes his mind while the store is away is answered when it is back") {
  for (const bool is_publisher : {true, false}) {
    INFO(is_publisher << " for a publisher");
    Rendezvous meeting;
    Marking& marking = is_publisher ? meeting.publisher : meeting.subscriber;
    const auto while_away = [&](const auto& change, const auto& changed_back) {
      meeting.cluster.store.set_available(false);
      change();
      const int delays = marking.delays;
      meeting.cluster.time.run_for(1s);
      REQUIRE(marking.delays > delays);
      changed_back();
      meeting.cluster.store.set_available(true);
      meeting.settle();
    };
    marking.set();
    meeting.settle();
    while_away([&] { marking.clear(); }, [&] { marking.set(); });
    CHECK(marking.standing == Names{"", ""});
    CHECK(marking.cleared.empty());
    CHECK(meeting.marks() == 1);
    marking.clear();
    meeting.settle();
    while_away([&] { marking.set(); }, [&] { marking.clear(); });
    CHECK(marking.cleared == Names{"", ""});
    CHECK(marking.standing == Names{"", ""});
    CHECK(meeting.marks() == 0);
    CHECK(marking.machine.is_at_rest());
  }
}

TEST_CASE("an unknown outcome of a mark's commit is settled by the next", "[STORE-06]") {
  for (const UnknownCommit kind :
       {UnknownCommit::Applied, UnknownCommit::Late, UnknownCommit::Lost}) {
    Rendezvous meeting;
    meeting.cluster[1].client().make_next_unknown(kind);
    meeting.subscriber.set();
    meeting.settle();
    CHECK(meeting.subscriber.standing == Names{""});
    CHECK(meeting.marks() == 1);
    const auto mark = meeting.subscriber.machine.mark();
    REQUIRE(mark.has_value());
    CHECK(meeting.cluster.store.contents(keys::topic_prefix).front().stored.version ==
          mark->version);
    meeting.cluster[1].client().make_next_unknown(kind);
    meeting.subscriber.clear();
    meeting.settle();
    CHECK(meeting.subscriber.cleared == Names{""});
    CHECK(meeting.marks() == 0);
  }
}

TEST_CASE("a store that is away delays a mark and loses none") {
  Rendezvous meeting;
  meeting.cluster.store.set_available(false);
  meeting.subscriber.set();
  meeting.cluster.time.run_for(1s);
  CHECK(meeting.subscriber.standing.empty());
  CHECK(meeting.subscriber.delays > 2);
  meeting.cluster.store.set_available(true);
  meeting.settle();
  CHECK(meeting.subscriber.standing == Names{""});
  CHECK(meeting.marks() == 1);
}

TEST_CASE("a store that forgot shows the marks again once they are asserted", "[PUB-01]") {
  Rendezvous meeting;
  meeting.publisher.set();
  meeting.subscriber.set();
  meeting.settle();
  meeting.cluster.store.fail_over(30s);
  meeting.cluster.time.run_for(40s);
  REQUIRE(meeting.cluster[0].view().epoch == meeting.cluster.store.epoch());
  REQUIRE(meeting.cluster[1].view().epoch == meeting.cluster.store.epoch());
  meeting.publisher.assert_again();
  meeting.subscriber.assert_again();
  meeting.settle();
  CHECK(meeting.marks() == 2);
  REQUIRE(meeting.publisher.standing.size() == 2);
  REQUIRE(meeting.subscriber.standing.size() == 2);
  CHECK((meeting.publisher.standing.back() == "b " || meeting.subscriber.standing.back() == "a "));
}

TEST_CASE("a broken mark is named once and left alone, and marks of another topic are not taken") {
  Rendezvous meeting;
  const std::string side = keys::topic_marks(topic, TopicSide::Subscribers);
  meeting.put(side + "broken", Bytes(20));
  meeting.put(side + "x", encode(TopicMark{stamp_of("x"), {"play", "news", "loss"}}));
  meeting.put(side + "a", encode(TopicMark{stamp_of("a"), topic}));
  meeting.put(side + "y", encode(TopicMark{stamp_of("y"), topic}));
  meeting.publisher.set();
  meeting.settle();
  CHECK(meeting.publisher.standing == Names{"y "});  // a is the publisher's own node
  REQUIRE(meeting.publisher.bad_records.size() == 1);
  CHECK(meeting.publisher.bad_records.front().find("broken") != std::string::npos);
  meeting.publisher.assert_again();
  meeting.settle();
  CHECK(meeting.publisher.standing == Names{"y ", "y "});
  CHECK(meeting.publisher.bad_records.size() == 1);
}

TEST_CASE("more marks than a page holds are all read") {
  Rendezvous meeting;
  const std::string side = keys::topic_marks(topic, TopicSide::Subscribers);
  const std::size_t count = topic_mark::scan_page + 20;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "n" + std::to_string(i);
    meeting.put(side + name, encode(TopicMark{stamp_of(name), topic}));
  }
  meeting.publisher.set();
  meeting.settle();
  REQUIRE(meeting.publisher.standing.size() == 1);
  const std::string& seen = meeting.publisher.standing.front();
  CHECK(static_cast<std::size_t>(std::ranges::count(seen, ' ')) == count);
}

TEST_CASE("a node whose lease was fenced writes no mark any more", "[RACE-05]") {
  Rendezvous meeting;
  meeting.cluster[1].watch(meeting.cluster[0]);
  meeting.cluster.time.run_for(12s);
  meeting.cluster[0].stop();
  meeting.cluster.time.run_for(60s);
  meeting.cluster[0].go_on();
  meeting.cluster.time.run_for(5s);
  REQUIRE_FALSE(meeting.cluster[0].view().is_held);
  meeting.publisher.set();
  meeting.settle();
  CHECK(meeting.marks() == 0);
  CHECK(meeting.publisher.standing.empty());
}
