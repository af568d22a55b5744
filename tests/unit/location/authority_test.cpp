#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "location/authority.hpp"
#include "sample_records.hpp"
#include "support/store_calls.hpp"
#include "test_cluster.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;

namespace {

// A SpotWide room at one node and a member of it, written into the store as they are.
struct Room {
  Cluster& cluster;
  SpotId spot = id_of<SpotId>("room");
  ActorId member = id_of<ActorId>("m");

  void write(const std::string& key, const std::optional<AuthorityRecord>& record) {
    std::optional<Bytes> value;
    if (record) value = encode(*record);
    cluster[0].client().commit({.epoch = {}, .conditions = {}, .writes = {{key, value}}},
                               [](const CommitResult&) {});
    cluster.time.run_for(20ms);
  }
  void write_spot(std::size_t owner, std::uint64_t generation) {
    AuthorityRecord record = authority_of(*cluster[owner].view().stamp);
    record.kind = ObjectKind::UserSpot;
    record.object_generation = {generation};
    write(keys::spot(spot), record);
  }
  void write_member(std::size_t owner, std::uint64_t spot_generation) {
    AuthorityRecord record = authority_of(*cluster[owner].view().stamp);
    record.membership = Membership{.spot = spot,
                                   .spot_generation = {spot_generation},
                                   .spot_owner_generation_at_join = {1},
                                   .owner_follows_spot = true};
    write(keys::actor(member), record);
  }
  FindOutcome find(std::size_t node) {
    const auto found = cluster[node].find(member.text());
    REQUIRE(found);
    return *found;
  }
};

}  // namespace

TEST_CASE("a member of a room lives where the room's record says") {
  AcquaintedCluster cluster(3);
  Room room{cluster};
  room.write_spot(0, 5);
  room.write_member(0, 5);
  CHECK(room.find(2).standing == Standing::Ready);
  CHECK(room.find(2).owner->rid.text == "a");
  // The room moves by one write; its members' records stay as they are.
  room.write_spot(1, 5);
  CHECK(room.find(2).is_found());
  CHECK(room.find(2).owner->rid.text == "b");
  CHECK(room.find(2).spot->record.owner.rid.text == "b");
}

TEST_CASE("a member of a room that is gone or another incarnation is lost, and its id is free",
          "[RACE-03]") {
  AcquaintedCluster cluster(3);
  Room room{cluster};
  room.write_spot(0, 5);
  room.write_member(0, 5);
  REQUIRE(room.find(2).is_found());
  SECTION("created again elsewhere") { room.write_spot(1, 6); }
  SECTION("gone") { room.write(keys::spot(room.spot), std::nullopt); }
  SECTION("only being created") {
    AuthorityRecord record = authority_of(*cluster[1].view().stamp);
    record.state = AuthorityState::Creating;
    record.object_generation = {5};
    room.write(keys::spot(room.spot), record);
  }
  CHECK(room.find(2).standing == Standing::OwnerLost);
  CHECK_FALSE(room.find(2).is_found());
  const Creation& anew = cluster.finish(cluster[2].create("m", get_or_create()));
  REQUIRE(anew.is(CreateOutcome::Kind::Created));
  CHECK(cluster.record("m")->owner.rid.text == "c");
  CHECK_FALSE(cluster.record("m")->membership.has_value());
}

TEST_CASE("a take-over of a member is conditional on the room it was lost with", "[RACE-03]") {
  AcquaintedCluster cluster(2);
  Room room{cluster};
  room.write_spot(0, 6);
  room.write_member(0, 5);
  AuthorityReader reader(keys::actor(room.member), cluster[1].environment());
  SimStore::Client& client = cluster[1].client();
  for (bool is_complete = false; !is_complete;) {
    std::optional<Result<ReadResult>> answer;
    client.read(reader.keys(), [&](Result<ReadResult> result) { answer = std::move(result); });
    while (!answer) REQUIRE(cluster.time.run_next());
    const auto taken = reader.take(**answer);
    REQUIRE(taken);
    is_complete = *taken;
  }
  CHECK(reader.standing(cluster.time.now()) == Standing::OwnerLost);
  REQUIRE(reader.reading().conditions.size() == 2);
  CHECK(reader.reading().conditions[0].key == keys::actor(room.member));
  CHECK(reader.reading().conditions[1].key == keys::spot(room.spot));
  CHECK(reader.reading().conditions[1].version == reader.reading().spot->version);
}

TEST_CASE("whoever reads that an owner's run is over tells of it, and of no run that may go on",
          "[RACE-12]") {
  AcquaintedCluster cluster(2);
  Room room{cluster};
  const OwnerStamp ghost = stamp_of("ghost");
  const std::string lease = keys::lease(ghost.owner);
  const auto write_lease = [&](LeaseState state) {
    cluster[0].client().commit(
        {.epoch = {}, .conditions = {}, .writes = {{lease, encode(LeaseRecord{ghost, state})}}},
        [](const CommitResult&) {});
    cluster.time.run_for(20ms);
  };
  const auto found = [&] {
    const Standing standing = room.find(1).standing;
    return std::pair(standing, cluster[1].take_owners_over());
  };
  using Over = std::vector<OwnerStamp>;
  const bool is_forgotten = GENERATE(false, true);
  if (is_forgotten) cluster.store.fail_over(0ms);
  room.write(keys::actor(room.member), authority_of(ghost));
  if (is_forgotten) {
    // It may write its lease again.
    CHECK(found() == std::pair(Standing::Unproven, Over{}));
    cluster.time.run_for(30s);
    CHECK(found() == std::pair(Standing::OwnerLost, Over{ghost}));
  } else {
    write_lease(LeaseState::Live);
    CHECK(found() == std::pair(Standing::Unproven, Over{}));
    write_lease(LeaseState::Fenced);
    CHECK(found() == std::pair(Standing::OwnerLost, Over{ghost}));
  }
  const Creation& anew = cluster.finish(cluster[1].create("m", get_or_create()));
  CHECK(anew.is(CreateOutcome::Kind::Created));
  CHECK(cluster[1].take_owners_over() == Over{ghost});
}

TEST_CASE("find tells Missing, Creating, Ready and lost apart and writes nothing", "[FIND-01]") {
  AcquaintedCluster cluster(2);
  CHECK(cluster[1].find("x")->standing == Standing::Missing);
  const Creation& creation = cluster[0].create("x", {.factory_time = 500ms});
  cluster.time.run_for(100ms);
  CHECK(cluster[1].find("x")->standing == Standing::Creating);
  CHECK(cluster[0].find("x")->standing == Standing::Creating);
  cluster.finish(creation);
  const auto commits = cluster.store.contents(keys::actor_prefix)[0].stored.version;
  CHECK(cluster[1].find("x")->standing == Standing::Ready);
  CHECK(cluster[1].find("x")->owner->rid.text == "a");
  cluster[0].stop();
  cluster.time.run_for(40s);
  CHECK(cluster[1].find("x")->standing == Standing::OwnerLost);
  CHECK_FALSE(cluster[1].find("x")->owner.has_value());
  CHECK(cluster.store.contents(keys::actor_prefix)[0].stored.version == commits);

  cluster.store.set_available(false);
  CHECK(cluster[1].find("x").error().kind() == ErrorKind::Unavailable);
}

TEST_CASE("after a new epoch the higher take-over count and owner generation wins", "[STORE-08]") {
  const AuthorityRecord own = authority_of(stamp_of("a", 7));
  AuthorityRecord stored = own;
  CHECK(decide_reassertion(own, std::nullopt) == Reassertion::Write);
  CHECK(decide_reassertion(own, stored) == Reassertion::Keep);
  SECTION("an older state of the same") {
    stored.terminals.push_back(terminal_of(1, 1));
    CHECK(decide_reassertion(own, stored) == Reassertion::Write);
  }
  SECTION("vacant") {
    stored.state = AuthorityState::Vacant;
    CHECK(decide_reassertion(own, stored) == Reassertion::Write);
  }
  SECTION("taken over meanwhile") {
    stored.owner = stamp_of("b", 9);
    stored.takeover_count = 1;
    CHECK(decide_reassertion(own, stored) == Reassertion::StepDown);
  }
  SECTION("moved on meanwhile") {
    stored.owner = stamp_of("b", 9);
    stored.owner_generation = {2};
    CHECK(decide_reassertion(own, stored) == Reassertion::StepDown);
  }
  SECTION("the owner it had before") {
    AuthorityRecord moved = own;
    moved.owner_generation = {2};
    CHECK(decide_reassertion(moved, stored) == Reassertion::Write);
  }
  SECTION("a move counts less than a take-over") {
    AuthorityRecord taken = own;
    taken.takeover_count = 1;
    stored.owner_generation = {9};
    CHECK(decide_reassertion(taken, stored) == Reassertion::Write);
  }
  SECTION("equal ranks of two owners: the store's") {
    stored.owner = stamp_of("b", 9);
    CHECK(decide_reassertion(own, stored) == Reassertion::StepDown);
  }
}
