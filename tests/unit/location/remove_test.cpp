// Carrying the end of an object through, whatever stands against it.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "location/remove.hpp"
#include "machine_rig.hpp"
#include "sample_records.hpp"
#include "test_cluster.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Kind = spotmesh::location::RemoveOutcome::Kind;

namespace {

const std::string key = "spotmesh/actor/x";

// Node a ends an object it owns; node b does what a test wants to its records.
struct Removing {
  Cluster cluster{2};
  StoreVersion version;
  std::vector<std::string> companions;
  std::optional<RemoveOutcome> outcome;
  std::vector<Error> delays;
  std::optional<RemoveMachine> machine;
  std::optional<MachineRig<RemoveMachine, remove::Event, remove::Action>> rig;

  Removing() { version = put(key, encode(own_record())); }

  StoreVersion put(const std::string& at, const std::optional<Bytes>& value) {
    std::optional<CommitResult> result;
    cluster[1].client().commit({.epoch = {}, .conditions = {}, .writes = {{at, value}}},
                               [&](CommitResult done) { result = std::move(done); });
    while (!result) REQUIRE(cluster.time.run_next());
    return result->versions.at(0);
  }
  AuthorityRecord own_record() const { return authority_of(*cluster.nodes[0]->view().stamp); }
  std::string lease_key() const { return keys::lease(cluster.nodes[0]->view().stamp->owner); }
  bool stands() { return cluster.store.contents(key).size() == 1; }

  void start(std::optional<StoreVersion> known) {
    machine.emplace(RemoveRequest{.what = "destroy of Actor \"x\"",
                                  .key = key,
                                  .generation = own_record().object_generation,
                                  .version = known,
                                  .deadline = cluster.time.now() + 5s,
                                  .companions = companions},
                    cluster[0].view(), cluster.random);
    rig.emplace(*machine, cluster[0].client(), cluster.time);
    rig->on_action = [this](const remove::Action& action) {
      if (const auto* delayed = std::get_if<remove::Delayed>(&action)) {
        delays.push_back(delayed->error);
        return;
      }
      REQUIRE_FALSE(outcome);
      outcome = std::get<remove::Finished>(action).outcome;
    };
    rig->feed(remove::Start{});
  }
  const RemoveOutcome& finish() {
    while (!outcome) REQUIRE(cluster.time.run_next());
    return *outcome;
  }
};

}  // namespace

TEST_CASE("the record of an object that ends is deleted, known or not", "[DESTROY-01]") {
  Removing removing;
  const bool is_known = GENERATE(true, false);
  removing.start(is_known ? std::optional(removing.version) : std::nullopt);
  CHECK(removing.finish().kind == Kind::Removed);
  CHECK_FALSE(removing.stands());
  CHECK(removing.delays.empty());
}

TEST_CASE("a version that has moved on is read again before anything is said of the object",
          "[DESTROY-02][DESTROY-03]") {
  Removing removing;
  AuthorityRecord other = removing.own_record();
  SECTION("the same incarnation") {
    other.mesh = "changed";
    removing.put(key, encode(other));
    removing.start(removing.version);
    CHECK(removing.finish().kind == Kind::Removed);
    CHECK_FALSE(removing.stands());
  }
  SECTION("nothing") {
    removing.put(key, std::nullopt);
    removing.start(removing.version);
    CHECK(removing.finish().kind == Kind::Gone);
  }
  SECTION("another incarnation, which is left alone") {
    other.object_generation.value += 1;
    removing.put(key, encode(other));
    removing.start(removing.version);
    CHECK(removing.finish().kind == Kind::Other);
    CHECK(removing.outcome->error->kind() == ErrorKind::InvalidOperation);
    CHECK(removing.stands());
  }
  SECTION("another owner of the same incarnation") {
    other.owner = *removing.cluster[1].view().stamp;
    removing.put(key, encode(other));
    removing.start(removing.version);
    CHECK(removing.finish().kind == Kind::Other);
    CHECK(removing.stands());
  }
  SECTION("a record that does not parse") {
    removing.put(key, to_bytes("nonsense"));
    removing.start(removing.version);
    CHECK(removing.finish().kind == Kind::Damaged);
    CHECK(removing.outcome->error->kind() == ErrorKind::DataLost);
    CHECK(removing.stands());
  }
}

TEST_CASE("a fence meanwhile says nothing of the object", "[DESTROY-02][STORE-06]") {
  Removing removing;
  removing.put(removing.lease_key(),
               encode(LeaseRecord{*removing.cluster[0].view().stamp, LeaseState::Fenced}));
  removing.start(removing.version);
  CHECK(removing.finish().kind == Kind::LeaseLost);
  REQUIRE_FALSE(removing.delays.empty());
  CHECK(removing.delays[0].kind() == ErrorKind::Unavailable);
  CHECK_THAT(removing.delays[0].message(), Contains("lease is in doubt"));
  CHECK(removing.outcome->error->kind() == ErrorKind::Unavailable);
  CHECK(removing.stands());
}

TEST_CASE("a new epoch meanwhile delays the end until its quiet time is over",
          "[DESTROY-02][RACE-01][STORE-08]") {
  Removing removing;
  removing.cluster.time.run_for(1s);
  removing.cluster.store.fail_over(0s);
  const Instant forgot = removing.cluster.time.now();
  removing.start(removing.version);
  SECTION("the record was kept") {
    CHECK(removing.finish().kind == Kind::Removed);
    CHECK(removing.cluster.time.now() >= forgot + 20s);
  }
  SECTION("the record was forgotten") {
    removing.put(key, std::nullopt);
    CHECK(removing.finish().kind == Kind::Removed);
  }
  SECTION("another has it there") {
    AuthorityRecord other = removing.own_record();
    other.object_generation.value += 1;
    removing.put(key, encode(other));
    CHECK(removing.finish().kind == Kind::Other);
    CHECK(removing.stands());
  }
  REQUIRE_FALSE(removing.delays.empty());
  CHECK(removing.delays[0].kind() == ErrorKind::Unavailable);
  CHECK_THAT(removing.delays[0].message(), Contains("new epoch"));
}

TEST_CASE("what went with a record goes, too, when the record is gone already", "[LOSS-04]") {
  Removing removing;
  const std::string checkpoint = "spotmesh/checkpoint/x";
  removing.companions = {checkpoint};
  removing.put(checkpoint, to_bytes("old"));
  const bool is_vacant = GENERATE(true, false);
  AuthorityRecord vacant = removing.own_record();
  vacant.state = AuthorityState::Vacant;
  removing.put(key, is_vacant ? std::optional(encode(vacant)) : std::nullopt);
  removing.start(removing.version);
  CHECK(removing.finish().kind == Kind::Gone);
  CHECK(removing.cluster.store.contents(checkpoint).empty());
  CHECK(removing.stands() == is_vacant);
}

TEST_CASE("a new life keeps what goes with it, whenever the former one ends", "[LOSS-04]") {
  Removing removing;
  const std::string checkpoint = "spotmesh/checkpoint/x";
  removing.companions = {checkpoint};
  removing.put(key, std::nullopt);
  removing.start(std::nullopt);
  // Between the reading that found nothing and the deletion of what went with the record.
  removing.rig->on_answer = [&](const auto&, const auto&) {
    if (removing.stands()) return;
    AuthorityRecord next = removing.own_record();
    next.object_generation.value += 1;
    removing.cluster.store.plant(key, encode(next));
    removing.cluster.store.plant(checkpoint, to_bytes("new"));
  };
  CHECK(removing.finish().kind == Kind::Gone);
  CHECK(removing.cluster.store.contents(checkpoint).size() == 1);
  CHECK(removing.stands());
}

TEST_CASE("an unknown deletion and a store that is away end in one certain outcome", "[RACE-04]") {
  Removing removing;
  SECTION("unknown") {
    const auto kind = GENERATE(UnknownCommit::Applied, UnknownCommit::Late, UnknownCommit::Lost);
    removing.cluster[0].client().make_next_unknown(kind);
    removing.start(removing.version);
    CHECK(removing.finish().kind == Kind::Removed);
  }
  SECTION("away past the deadline, which is told once") {
    removing.cluster.store.set_available(false);
    removing.start(removing.version);
    removing.cluster.time.run_for(8s);
    REQUIRE(removing.delays.size() == 1);
    CHECK_THAT(removing.delays[0].message(), Contains("away"));
    CHECK_FALSE(removing.outcome);
    removing.cluster.store.set_available(true);
    CHECK(removing.finish().kind == Kind::Removed);
  }
  CHECK_FALSE(removing.stands());
}
