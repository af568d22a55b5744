#include "location/directory.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "location/keys.hpp"
#include "machine_rig.hpp"
#include "sample_records.hpp"
#include "support/manual_time.hpp"
#include "testing/sim_store.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

NodeDescriptor descriptor_of(const std::string& node, std::uint64_t generation = 1) {
  return {.stamp = stamp_of(node, generation),
          .is_stream_gateway = false,
          .application_version = "1",
          .state = HostState::Serving,
          .advertised_address = node + ":1",
          .meshes = {}};
}

// The directory of node "m" on a store; what it says is kept.
class Observer {
 public:
  using Rig = MachineRig<DirectoryMachine, directory::Event, directory::Action>;

  Observer() {
    lease_.is_held = true;
    lease_.stamp = stamp_of("m");
    lease_.epoch = store.epoch();
    rig_.on_action = [this](const directory::Action& action) { take(action); };
    client_->watch(std::string(keys::node_prefix), [this](std::string_view key) {
      if (is_hinted) rig_.feed(directory::Hint{std::string(key)});
    });
  }

  void start() { feed(directory::Start{}); }
  void feed(directory::Event event) { rig_.feed(std::move(event)); }
  void run_for(Duration span) { time.run_for(span); }
  DirectoryMachine& machine() { return machine_; }
  LeaseView& lease() { return lease_; }

  // A node and its lease come into the store, or change there; what is not given is deleted.
  void put(const NodeDescriptor& node, LeaseState lease = LeaseState::Live) {
    write(keys::lease(node.stamp.owner), encode(LeaseRecord{node.stamp, lease}));
    write(keys::node(node.stamp.rid), encode(node));
  }
  void put(const std::string& node) { put(descriptor_of(node)); }
  void write(const std::string& key, std::optional<Bytes> value) {
    writer_->commit({.epoch = {}, .conditions = {}, .writes = {{key, std::move(value)}}},
                    [](const CommitResult&) {});
    // One after the other.
    time.run_for(5ms);
  }
  std::string node_key(const std::string& node) { return keys::node(NodeRid{node}); }
  std::string lease_key(const std::string& node) { return keys::lease(id_of<OwnerId>(node)); }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, node] : known) names.push_back(name);
    return names;
  }

  ManualTime time;
  TestRandom random{3};
  SimStore store{time, random};
  std::map<std::string, NodeDescriptor> known;
  std::vector<std::string> gone;
  std::vector<std::string> watched;
  std::vector<std::string> removed;
  std::vector<std::string> faults;
  int scans = 0;
  bool is_hinted = true;

 private:
  void take(const directory::Action& action) {
    if (std::holds_alternative<ScanKeys>(action)) {
      ++scans;
    } else if (const auto* node = std::get_if<directory::NodeKnown>(&action)) {
      known.insert_or_assign(node->node.stamp.rid.text, node->node);
    } else if (const auto* run = std::get_if<directory::NodeGone>(&action)) {
      known.erase(run->stamp.rid.text);
      gone.push_back(run->stamp.rid.text);
    } else if (const auto* watch = std::get_if<directory::WatchOwner>(&action)) {
      watched.push_back(watch->owner.rid.text);
    } else if (const auto* removal = std::get_if<directory::RemoveDescriptor>(&action)) {
      removed.push_back(removal->key);
    } else if (const auto* bad = std::get_if<directory::BadRecord>(&action)) {
      faults.push_back(bad->error.message());
    }
  }

  std::unique_ptr<SimStore::Client> client_ = store.connect("m");
  std::unique_ptr<SimStore::Client> writer_ = store.connect("others");
  LeaseView lease_;
  DirectoryMachine machine_{NodeRid{"m"}, lease_, random};
  Rig rig_{machine_, *client_, time};
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("who starts sees all nodes that are there, but itself") {
  Observer observer;
  for (const char* node : {"a", "m", "z"}) observer.put(node);
  CHECK_FALSE(observer.machine().is_complete());
  observer.start();
  observer.run_for(10ms);
  CHECK(observer.machine().is_complete());
  CHECK(observer.names() == Names{"a", "z"});
  CHECK(observer.known.at("a").advertised_address == "a:1");
}

TEST_CASE("more nodes than a page holds are seen page by page") {
  Observer observer;
  Names expected;
  for (int i = 0; i < 1'200; ++i) {
    const std::string name = "n" + std::to_string(10'000 + i);
    expected.push_back(name);
    observer.put(name);
  }
  observer.start();
  observer.run_for(50ms);
  CHECK(observer.scans == 3);
  CHECK(observer.names() == expected);
}

TEST_CASE("hints make a node known soon, and without any the next look round does") {
  Observer observer;
  observer.is_hinted = GENERATE(true, false);
  observer.start();
  observer.run_for(300ms);
  observer.put("a");
  observer.run_for(300ms);
  CHECK(observer.names() == (observer.is_hinted ? Names{"a"} : Names{}));
  NodeDescriptor full = descriptor_of("a");
  full.state = HostState::Draining;
  observer.put(full);
  observer.run_for(11s);
  REQUIRE(observer.names() == Names{"a"});
  CHECK(observer.known.at("a").state == HostState::Draining);
}

TEST_CASE("a hint that names no key makes it look at all") {
  Observer observer;
  observer.is_hinted = false;
  observer.start();
  observer.run_for(300ms);
  observer.put("a");
  observer.feed(directory::Hint{std::string(keys::node_prefix)});
  observer.run_for(20ms);
  CHECK(observer.names() == Names{"a"});
}

TEST_CASE("hints and wishes that name no node keep it from nothing") {
  Observer observer;
  observer.is_hinted = false;
  observer.start();
  observer.run_for(1s);
  observer.feed(directory::Hint{std::string(keys::node_prefix) + "no/id of a\nnode"});
  observer.feed(directory::Wanted{NodeRid{"no/id of a\nnode"}});
  observer.put("a");
  observer.run_for(15s);
  CHECK(observer.names() == Names{"a"});
}

TEST_CASE("any number of hints costs a bounded number of reads") {
  Observer observer;
  observer.put("a");
  observer.start();
  observer.run_for(10ms);
  const int before = observer.scans;
  for (int i = 0; i < 2'000; ++i) {
    observer.feed(directory::Hint{std::string(keys::node_prefix)});
    observer.run_for(1ms);
  }
  CHECK(observer.scans - before <= 9);
}

TEST_CASE("a node that somebody asks for is looked up out of turn") {
  Observer observer;
  observer.is_hinted = false;
  observer.start();
  observer.run_for(300ms);
  observer.put("a");
  observer.feed(directory::Wanted{NodeRid{"a"}});
  observer.feed(directory::Wanted{NodeRid{"nobody"}});
  observer.run_for(20ms);
  CHECK(observer.names() == Names{"a"});
}

TEST_CASE("a node without a descriptor is gone only when its lease is over", "[DURABLE-06]") {
  Observer observer;
  observer.put("a");
  observer.start();
  observer.run_for(300ms);
  SECTION("its lease is live: it takes nothing new, and can be reached") {
    observer.write(observer.node_key("a"), std::nullopt);
    observer.run_for(300ms);
    REQUIRE(observer.names() == Names{"a"});
    CHECK(observer.known.at("a").state == HostState::Stopped);
    CHECK(observer.known.at("a").advertised_address == "a:1");
    observer.run_for(30s);
    CHECK(observer.gone.empty());
    SECTION("until it says that it is there") {
      observer.put("a");
      observer.run_for(300ms);
      CHECK(observer.known.at("a").state == HostState::Serving);
    }
    SECTION("until its lease is over, which a later look round shows") {
      observer.write(observer.lease_key("a"), std::nullopt);
      observer.run_for(11s);
      CHECK(observer.gone == Names{"a"});
    }
  }
  SECTION("given back") {
    observer.write(observer.lease_key("a"), std::nullopt);
    observer.write(observer.node_key("a"), std::nullopt);
    observer.run_for(300ms);
    CHECK(observer.gone == Names{"a"});
    CHECK(observer.known.empty());
  }
  SECTION("fenced, with nobody to take the descriptor away") {
    observer.put(descriptor_of("a"), LeaseState::Fenced);
    observer.run_for(300ms);
    CHECK(observer.gone == Names{"a"});
    CHECK(observer.removed == Names{observer.node_key("a")});
  }
}

TEST_CASE("a fence that is read of a node which is not known is told as its end", "[RACE-12]") {
  Observer observer;
  observer.start();
  observer.run_for(1s);
  // Whoever fences a node takes its descriptor away.
  observer.write(observer.lease_key("a"), encode(LeaseRecord{stamp_of("a"), LeaseState::Fenced}));
  observer.write(observer.lease_key("b"), encode(LeaseRecord{stamp_of("b"), LeaseState::Live}));
  observer.write(observer.lease_key("c"), encode(LeaseRecord{stamp_of("d"), LeaseState::Fenced}));
  for (int times = 0; times < 2; ++times) {
    for (const char* rid : {"a", "b", "c", "e"}) {
      observer.feed(directory::Wanted{NodeRid{rid}});
    }
    observer.run_for(1s);
  }
  CHECK(observer.gone == Names{"a"});
  CHECK(observer.known.empty());
}

TEST_CASE("that this node itself is over is not for its directory to tell") {
  Observer observer;
  observer.start();
  observer.feed(directory::OwnerOver{stamp_of("m")});
  CHECK(observer.gone.empty());
}

TEST_CASE("a run that was fenced never comes back into the picture") {
  Observer observer;
  observer.put("a");
  const OwnerStamp run = stamp_of("a");
  SECTION("known already") {
    observer.start();
    observer.run_for(300ms);
    observer.feed(directory::OwnerOver{run});
    CHECK(observer.gone == Names{"a"});
    observer.run_for(30s);
    observer.feed(directory::OwnerOver{run});
    CHECK(observer.gone == Names{"a"});
  }
  SECTION("not known yet") {
    observer.feed(directory::OwnerOver{run});
    // It may have a mesh session all the same.
    CHECK(observer.gone == Names{"a"});
    observer.start();
    observer.run_for(30s);
    observer.feed(directory::OwnerOver{run});
    CHECK(observer.gone == Names{"a"});
  }
  CHECK(observer.known.empty());
  CHECK(std::ranges::count(observer.removed, observer.node_key("a")) >= 1);
}

TEST_CASE("in a store that has forgotten nobody is gone until its owners have spoken",
          "[STORE-08]") {
  Observer observer;
  observer.start();
  observer.run_for(60s);
  observer.put("a");
  observer.run_for(1s);
  REQUIRE(observer.names() == Names{"a"});
  observer.store.fail_over(2s);
  REQUIRE(observer.store.contents(keys::node_prefix).empty());
  SECTION("before the lease has learnt of the epoch") {
    observer.run_for(30s);
    CHECK(observer.gone.empty());
  }
  SECTION("while it is quiet") {
    observer.lease().epoch = observer.store.epoch();
    observer.lease().quiet_until = observer.time.now() + 20s;
    observer.run_for(19s);
    CHECK(observer.gone.empty());
    REQUIRE(observer.names() == Names{"a"});
    CHECK(observer.known.at("a").state == HostState::Stopped);
    SECTION("and it came back") {
      observer.put("a");
      observer.run_for(30s);
      CHECK(observer.gone.empty());
      CHECK(observer.known.at("a").state == HostState::Serving);
    }
    SECTION("and it did not") {
      observer.run_for(12s);
      CHECK(observer.gone == Names{"a"});
    }
  }
}

TEST_CASE("a record that cannot be used is named once, and the others are used") {
  Observer observer;
  observer.put("a");
  observer.write(observer.node_key("bad"), to_bytes("garbage"));
  observer.write(observer.node_key("liar"), encode(descriptor_of("b")));
  observer.put("c");
  observer.start();
  observer.run_for(60s);
  CHECK(observer.names() == Names{"a", "c"});
  REQUIRE(observer.faults.size() == 2);
  CHECK_THAT(observer.faults[0], Contains("spotmesh/node/bad"));
  CHECK_THAT(observer.faults[1], Contains("spotmesh/node/liar") && Contains("'b'"));
  // Damage to a record is no sign that its node has gone.
  observer.write(observer.node_key("a"), to_bytes("garbage"));
  observer.run_for(30s);
  CHECK(observer.names() == Names{"a", "c"});
  CHECK(observer.gone.empty());
  CHECK(observer.faults.size() == 3);
}

TEST_CASE("a store that is away makes nobody look gone") {
  Observer observer;
  observer.put("a");
  observer.start();
  observer.run_for(1s);
  observer.store.set_available(false);
  observer.feed(directory::Hint{observer.node_key("a")});
  observer.run_for(60s);
  CHECK(observer.names() == Names{"a"});
  observer.store.set_available(true);
  observer.put("b");
  observer.run_for(12s);
  CHECK(observer.names() == Names{"a", "b"});
}

TEST_CASE("each node watches those that follow it, so that everybody is watched") {
  Observer observer;
  // Enough for a ring of which nobody watches all: "n" asks.
  std::vector<std::string> nodes{"a", "b", "c", "z"};
  for (std::size_t i = 0; i + 3 < directory::watched_neighbours; ++i) {
    nodes.push_back("p" + std::to_string(100 + i));
  }
  for (const std::string& node : nodes) observer.put(node);
  observer.start();
  observer.run_for(10ms);
  const auto watched = [&] {
    const Names names = std::exchange(observer.watched, {});
    return std::set<std::string>(names.begin(), names.end());
  };
  const auto first = watched();
  CHECK(first.size() == directory::watched_neighbours);
  CHECK(first.contains("p100"));
  CHECK(first.contains("z"));
  CHECK(first.contains("b"));
  CHECK_FALSE(first.contains("c"));
  observer.put("o");
  observer.run_for(300ms);
  const auto second = watched();
  CHECK(second.contains("o"));
  CHECK(second.contains("a"));
  CHECK_FALSE(second.contains("b"));
  observer.feed(directory::OwnerOver{stamp_of("z")});
  const auto third = watched();
  CHECK(third.contains("b"));
  CHECK_FALSE(third.contains("c"));
}
