#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "location/authority.hpp"
#include "location/settle.hpp"
#include "machine_rig.hpp"
#include "sample_records.hpp"
#include "test_cluster.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Kind = spotmesh::location::SettleOutcome::Kind;

namespace {

const std::string key = "spotmesh/actor/x";

// One commit of node a about an object it owns.
struct Settling {
  Cluster cluster{2};
  std::optional<SettleOutcome> outcome;
  Instant started{};
  std::optional<CommitMachine> machine;
  std::optional<MachineRig<CommitMachine, settle::Event, settle::Action>> rig;

  StoreVersion put(const std::string& at, const Bytes& value) {
    std::optional<CommitResult> result;
    cluster[1].client().commit({.epoch = {}, .conditions = {}, .writes = {{at, value}}},
                               [&](CommitResult done) { result = std::move(done); });
    while (!result) REQUIRE(cluster.time.run_next());
    return result->versions.at(0);
  }
  std::optional<Bytes> get(const std::string& at) {
    for (const auto& entry : cluster.store.contents(at)) {
      if (entry.key == at) return entry.stored.value;
    }
    return std::nullopt;
  }
  void start(Commit commit, Duration timeout = 2s) {
    started = cluster.time.now();
    machine.emplace("Join of Actor \"x\"", std::move(commit), started + timeout, cluster[0].view(),
                    cluster.random);
    rig.emplace(*machine, cluster[0].client(), cluster.time);
    rig->on_action = [this](const settle::Action& action) {
      REQUIRE_FALSE(outcome);
      outcome = std::get<settle::Finished>(action).outcome;
    };
    rig->feed(settle::Start{});
  }
  const SettleOutcome& finish() {
    while (!outcome) REQUIRE(cluster.time.run_next());
    return *outcome;
  }
  AuthorityRecord record() const { return authority_of(*cluster.nodes[0]->view().stamp); }
  Commit change(StoreVersion version) {
    AuthorityRecord changed = record();
    changed.mesh = "changed";
    return write_object(cluster[0].view(), key, version, changed);
  }
};

}  // namespace

TEST_CASE("a commit of an owner is applied, or its conflict is named", "[STORE-06]") {
  Settling settling;
  const StoreVersion version = settling.put(key, encode(settling.record()));
  SECTION("applied") {
    settling.start(settling.change(version));
    CHECK(settling.finish().kind == Kind::Applied);
    CHECK(settling.outcome->versions.size() == 1);
    CHECK(decode_authority(key, *settling.get(key))->mesh == "changed");
  }
  SECTION("removed") {
    settling.start(remove_object(settling.cluster[0].view(), key, version));
    CHECK(settling.finish().kind == Kind::Applied);
    CHECK_FALSE(settling.get(key).has_value());
  }
  SECTION("another version") {
    settling.put(key, encode(settling.record()));
    settling.start(settling.change(version));
    CHECK(settling.finish().kind == Kind::Conflict);
    CHECK(settling.outcome->failed_key == key);
  }
  SECTION("another epoch of the store") {
    const Commit commit = settling.change(version);
    settling.cluster.store.fail_over(0s);
    settling.start(commit);
    CHECK(settling.finish().kind == Kind::NotApplied);
    CHECK_THAT(settling.outcome->error->message(), Contains("new epoch"));
    CHECK(decode_authority(key, *settling.get(key))->mesh == "play");
  }
  SECTION("the lease fenced in the store") {
    const Commit commit = settling.change(version);
    const std::string lease_key = keys::lease(id_of<OwnerId>("a"));
    settling.put(lease_key, encode(LeaseRecord{stamp_of("a"), LeaseState::Fenced}));
    settling.start(commit);
    // That says nothing of the record.
    CHECK(settling.finish().kind == Kind::NotApplied);
    CHECK(settling.outcome->error->kind() == ErrorKind::Unavailable);
    CHECK_THAT(settling.outcome->error->message(), Contains("lease is in doubt"));
    CHECK(decode_authority(key, *settling.get(key))->mesh == "play");
  }
}

TEST_CASE("a commit that the store does not take is not tried again", "[STORE-02]") {
  Settling settling;
  const StoreVersion version = settling.put(key, encode(settling.record()));
  AuthorityRecord large = settling.record();
  large.mesh = std::string(max_store_value_bytes, 'm');
  settling.start(write_object(settling.cluster[0].view(), key, version, large));
  CHECK(settling.finish().kind == Kind::NotApplied);
  CHECK(settling.outcome->error->kind() == ErrorKind::InternalFailure);
  CHECK(settling.cluster.time.now() - settling.started < 100ms);
}

TEST_CASE("an unknown commit is settled by re-reading, whatever became of it", "[RACE-04]") {
  const auto kind = GENERATE(UnknownCommit::Applied, UnknownCommit::Late, UnknownCommit::Lost);
  const bool is_removal = GENERATE(false, true);
  Settling settling;
  const StoreVersion version = settling.put(key, encode(settling.record()));
  settling.cluster[0].client().make_next_unknown(kind);
  settling.start(is_removal ? remove_object(settling.cluster[0].view(), key, version)
                            : settling.change(version));
  CHECK(settling.finish().kind == Kind::Applied);
  CHECK(settling.get(key).has_value() != is_removal);
}

TEST_CASE("no deadline decides an unknown commit", "[RACE-04]") {
  const auto kind = GENERATE(UnknownCommit::Applied, UnknownCommit::Lost);
  Settling settling;
  settling.cluster.store.behavior() = {.min_latency = 1ms, .max_latency = 1ms};
  const StoreVersion version = settling.put(key, encode(settling.record()));
  settling.cluster[0].client().make_next_unknown(kind);
  settling.start(settling.change(version));
  settling.cluster.time.run_for(2500us);
  settling.cluster.store.set_available(false);
  settling.cluster.time.run_for(4s);
  CHECK_FALSE(settling.outcome);
  settling.cluster.store.set_available(true);
  settling.finish();
  // What was not applied is not tried again so late.
  CHECK(settling.outcome->kind ==
        (kind == UnknownCommit::Applied ? Kind::Applied : Kind::NotApplied));
  const auto mesh = decode_authority(key, *settling.get(key))->mesh;
  CHECK(mesh == (kind == UnknownCommit::Applied ? "changed" : "play"));
}

TEST_CASE("a store that is away is tried again until the deadline, and the error says so",
          "[STORE-09]") {
  Settling settling;
  const StoreVersion version = settling.put(key, encode(settling.record()));
  settling.cluster.store.set_available(false);
  settling.start(settling.change(version));
  SECTION("it comes back") {
    settling.cluster.time.run_for(1s);
    settling.cluster.store.set_available(true);
    CHECK(settling.finish().kind == Kind::Applied);
  }
  SECTION("it does not") {
    CHECK(settling.finish().kind == Kind::NotApplied);
    CHECK(settling.cluster.time.now() == settling.started + 2s);
    CHECK(settling.outcome->error->kind() == ErrorKind::Unavailable);
    CHECK_THAT(settling.outcome->error->message(),
               Contains("Join of Actor \"x\"") && Contains("away"));
  }
}

TEST_CASE("a node past its admission submits nothing until it is renewed", "[STORE-05]") {
  Settling settling;
  const StoreVersion version = settling.put(key, encode(settling.record()));
  settling.cluster[0].client().set_available(false);
  settling.cluster.time.run_for(12s);
  REQUIRE_FALSE(settling.cluster[0].view().admits(settling.cluster.time.now()));
  SECTION("renewed in time") {
    settling.start(settling.change(version));
    CHECK(decode_authority(key, *settling.get(key))->mesh == "play");
    settling.cluster[0].client().set_available(true);
    CHECK(settling.finish().kind == Kind::Applied);
    CHECK(settling.cluster[0].view().admits(settling.cluster.time.now()));
  }
  SECTION("not renewed") {
    settling.start(settling.change(version));
    CHECK(settling.finish().kind == Kind::NotApplied);
    CHECK_THAT(settling.outcome->error->message(), Contains("lease"));
    CHECK(decode_authority(key, *settling.get(key))->mesh == "play");
  }
}
