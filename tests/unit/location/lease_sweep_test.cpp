// What becomes of the leases of runs that were fenced.
#include "location/lease_sweep.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "location/entry_spots.hpp"
#include "location/keys.hpp"
#include "machine_rig.hpp"
#include "sample_records.hpp"
#include "support/manual_time.hpp"
#include "testing/sim_store.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;

namespace {

// The sweep of node "m".
struct Sweeper {
  Sweeper() {
    write(key("m"), encode(LeaseRecord{stamp_of("m"), LeaseState::Live}));
    lease.is_held = true;
    lease.stamp = stamp_of("m");
    lease.lease_version = store.contents(key("m")).at(0).stored.version;
    lease.epoch = store.epoch();
    lease.admission_deadline = Instant::max();
    rig.on_action = [this](const sweep::Action& action) {
      const auto* scan = std::get_if<ScanKeys>(&action);
      if (scan != nullptr && scan->prefix == keys::lease_prefix) ++scans;
    };
  }
  static std::string key(const std::string& node) { return keys::lease(id_of<OwnerId>(node)); }
  void write(const std::string& at, std::optional<Bytes> value) {
    client->commit({.epoch = {}, .conditions = {}, .writes = {{at, std::move(value)}}},
                   [](const CommitResult&) {});
    time.run_for(5ms);
  }
  void put(const std::string& node, LeaseState state) {
    write(key(node), encode(LeaseRecord{stamp_of(node), state}));
  }
  void start() { rig.feed(sweep::Start{}); }
  bool has(const std::string& node) { return !store.contents(key(node)).empty(); }
  std::size_t leases() { return store.contents(keys::lease_prefix).size(); }

  ManualTime time;
  TestRandom random{3};
  SimStore store{time, random};
  std::unique_ptr<SimStore::Client> client = store.connect("m");
  LeaseView lease;
  LeaseSweep machine{lease, random};
  MachineRig<LeaseSweep, sweep::Event, sweep::Action> rig{machine, *client, time};
  int scans = 0;
};

}  // namespace

TEST_CASE("a fenced lease is deleted when its fence has been seen for an hour, and no other is") {
  Sweeper one;
  one.put("live", LeaseState::Live);
  one.put("dead", LeaseState::Fenced);
  one.write(one.key("bad"), to_bytes("garbage"));
  one.start();
  one.time.run_for(55min);
  CHECK(one.has("dead"));
  one.put("later", LeaseState::Fenced);
  one.time.run_for(30min);
  CHECK_FALSE(one.has("dead"));
  CHECK(one.has("later"));
  one.time.run_for(1h);
  CHECK_FALSE(one.has("later"));
  for (const char* node : {"live", "bad", "m"}) CHECK(one.has(node));
  // Ten minutes, less up to a quarter.
  CHECK(one.scans >= 14);
  CHECK(one.scans <= 20);
}

TEST_CASE("a fence that has changed since is seen from then on") {
  Sweeper one;
  one.put("dead", LeaseState::Fenced);
  one.start();
  one.time.run_for(50min);
  one.put("dead", LeaseState::Fenced);
  one.time.run_for(55min);
  CHECK(one.has("dead"));
  one.time.run_for(30min);
  CHECK_FALSE(one.has("dead"));
}

TEST_CASE("only a node that may act deletes leases, and it waits anew after a new epoch") {
  Sweeper one;
  one.put("dead", LeaseState::Fenced);
  one.start();
  SECTION("its lease has run out") {
    one.lease.admission_deadline = one.time.now();
    one.time.run_for(3h);
    CHECK(one.has("dead"));
    one.lease.admission_deadline = Instant::max();
    one.time.run_for(11min);
    CHECK_FALSE(one.has("dead"));
  }
  SECTION("its lease was fenced, which it has not read yet") {
    one.put("m", LeaseState::Fenced);
    one.time.run_for(3h);
    CHECK(one.has("dead"));
  }
  SECTION("the store has forgotten") {
    one.time.run_for(50min);
    one.store.fail_over(0ms);
    one.lease.epoch = one.store.epoch();
    one.lease.lease_version = one.store.contents(one.key("m")).at(0).stored.version;
    one.time.run_for(55min);
    CHECK(one.has("dead"));
    one.time.run_for(30min);
    CHECK_FALSE(one.has("dead"));
  }
  SECTION("it has stopped") {
    one.rig.feed(sweep::Stop{});
    one.time.run_for(3h);
    CHECK(one.scans == 0);
  }
  SECTION("the store is away for a while") {
    one.store.set_available(false);
    one.time.run_for(2h);
    CHECK(one.scans >= 12);
    one.store.set_available(true);
    one.time.run_for(90min);
    CHECK_FALSE(one.has("dead"));
  }
}

TEST_CASE("however many runs have crashed, their leases go bit by bit") {
  Sweeper one;
  for (int i = 0; i < 700; ++i) one.put(fmt::format("dead-{}", i), LeaseState::Fenced);
  one.start();
  one.time.run_for(80min);
  CHECK(one.leases() < 701);
  CHECK(one.leases() > 400);
  one.time.run_for(4h);
  CHECK(one.leases() == 1);
}

TEST_CASE("the records of a dead run's Entry Spots go with its lease, and no others") {
  Sweeper one;
  const std::string dead = "world-0f0e0d0c-0b0a-4908-8706-050403020100";
  const std::string other = "world-0f0e0d0c-0b0a-4908-8706-050403020200";
  const auto record_of = [](const std::string& run, ObjectKind kind) {
    AuthorityRecord record = authority_of(stamp_of(run));
    record.kind = kind;
    return encode(record);
  };
  const auto key_of = [](const std::string& run, std::size_t number) {
    return keys::spot(*entry_spot_id(run, number));
  };
  for (const std::size_t number : {0, 1, 255}) {
    one.write(key_of(dead, number), record_of(dead, ObjectKind::EntrySpot));
  }
  // Rooms whose owners have chosen such names, of this run and of another, and damage.
  one.write(key_of(dead, 2), record_of(dead, ObjectKind::UserSpot));
  one.write(key_of(dead, 3), record_of("m", ObjectKind::EntrySpot));
  one.write(key_of(dead, 4), to_bytes("garbage"));
  one.write(key_of(other, 0), record_of(other, ObjectKind::EntrySpot));
  one.put(dead, LeaseState::Fenced);
  one.put(other, LeaseState::Live);
  one.start();
  one.time.run_for(55min);
  CHECK(one.store.contents(keys::spot_prefix).size() == 7);
  one.time.run_for(30min);
  CHECK_FALSE(one.has(dead));
  std::vector<std::string> left;
  for (const auto& entry : one.store.contents(keys::spot_prefix)) left.push_back(entry.key);
  CHECK(left == std::vector<std::string>{key_of(dead, 2), key_of(dead, 3), key_of(dead, 4),
                                         key_of(other, 0)});
}

TEST_CASE("an Entry Spot's id follows from its run and its number") {
  const std::string run = "world-0f0e0d0c-0b0a-4908-8706-050403020100";
  CHECK(entry_spot_id(run, 0)->text() == "world-entry-0f0e0d0c-0b0a-4908-8706-050403020100");
  CHECK(entry_spot_id(run, 171)->text() == "world-entry-0f0e0d0c-0b0a-4908-8706-0504030201ab");
  CHECK_FALSE(entry_spot_id(run, most_entry_spots).has_value());
  CHECK_FALSE(entry_spot_id("world", 0).has_value());
}
