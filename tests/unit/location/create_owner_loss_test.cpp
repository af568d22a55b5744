// Creations and owners that are dead, slow, forgotten or not yet known.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "location/create.hpp"
#include "sample_records.hpp"
#include "test_cluster.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Kind = spotmesh::location::CreateOutcome::Kind;

namespace {

// Dead to the whole cluster, and fenced.
void kill(Cluster& cluster, std::size_t index) {
  cluster[index].stop();
  cluster.time.run_for(40s);
}

}  // namespace

TEST_CASE("a node that stalls while it creates finds its reservation lost and exposes nothing",
          "[CREATE-15][LOSS-03]") {
  AcquaintedCluster cluster(2);
  const Creation& stalled = cluster[0].create("x", {.factory_time = 100ms});
  cluster.time.run_for(50ms);
  REQUIRE(cluster.record("x")->state == AuthorityState::Creating);
  cluster[0].stop();
  // Not a moment before its lease is fenced.
  cluster.time.run_for(10s);
  const Creation& early = cluster.finish(cluster[1].create("x", {}));
  CHECK(early.failed_with(ErrorKind::DeadlineExceeded));
  cluster.time.run_for(30s);
  const Creation& taken = cluster.finish(cluster[1].create("x", {}));
  REQUIRE(taken.is(Kind::Created));
  CHECK(cluster.record("x")->takeover_count == 1);

  cluster[0].go_on();
  cluster.finish(stalled);
  CHECK(stalled.failed_with(ErrorKind::Unavailable));
  CHECK(stalled.discards == 1);
  CHECK_FALSE(cluster[0].is_exposed("x"));
  CHECK(cluster.record("x")->owner.rid.text == "b");
}

TEST_CASE("the id of a dead owner is Unavailable until the fence and taken over after it",
          "[LOSS-02][LOSS-05]") {
  AcquaintedCluster cluster(2);
  const Creation& first = cluster.finish(cluster[0].create("x", {}));
  cluster[0].stop();
  const Instant died = cluster.time.now();
  bool was_unavailable = false;
  for (int i = 0; i < 100; ++i) {
    const Creation& attempt = cluster.finish(cluster[1].create("x", get_or_create()));
    if (attempt.is(Kind::Created)) {
      CHECK(cluster.time.now() - died >= 15s);
      CHECK(was_unavailable);
      CHECK(attempt.outcome->object_generation != first.outcome->object_generation);
      CHECK(cluster.record("x")->takeover_count == 1);
      CHECK(cluster.record("x")->owner_generation.value == 1);
      return;
    }
    // Until its lease runs out the owner may be alive, after that nobody says Existing.
    if (attempt.failed_with(ErrorKind::Unavailable)) was_unavailable = true;
    if (was_unavailable) CHECK_FALSE(attempt.is(Kind::Existing));
    cluster.time.run_for(500ms);
  }
  FAIL("never taken over");
}

TEST_CASE("a write that was held up until its owner was fenced is refused inside the commit",
          "[STORE-06][STORE-07]") {
  // Without the condition on the lease the check below sees the write.
  const bool is_broken = GENERATE(false, true);
  AcquaintedCluster cluster(2);
  if (is_broken) cluster[0].faults.set_chance("create.skip-lease-condition", 1000);
  cluster.store.behavior() = {.min_latency = 1ms, .max_latency = 1ms, .stray_latency = 60s};
  cluster[0].create("x", {});
  // The read is answered after 2 ms; the reservation that follows strays.
  cluster.time.run_for(1500us);
  cluster.store.behavior().strays_per_mille = 1000;
  cluster.time.run_for(1ms);
  cluster.store.behavior().strays_per_mille = 0;
  cluster[0].stop();
  cluster.time.run_for(50s);
  CHECK(cluster[1].verdict(cluster[0]) == OwnerVerdict::Fenced);
  CHECK_FALSE(cluster.record("x").has_value());
  cluster.time.run_for(15s);
  CHECK(cluster.record("x").has_value() == is_broken);
}

TEST_CASE("an owner that nobody has seen alive is waited for, not believed", "[LOSS-02]") {
  AcquaintedCluster cluster(1);
  cluster.finish(cluster[0].create("x", {}));
  TestNode& newcomer = cluster.add("new");
  SECTION("alive: Existing as soon as its beat has moved") {
    auto script = get_or_create();
    script.timeout = 10s;
    const Creation& get = cluster.finish(newcomer.create("x", script));
    CHECK(get.is(Kind::Existing));
  }
  SECTION("dead: Unavailable") {
    cluster[0].stop();
    const Creation& get = cluster.finish(newcomer.create("x", get_or_create()));
    CHECK(get.failed_with(ErrorKind::Unavailable));
    CHECK_THAT(get.outcome->error->message(), Contains("node a"));
    cluster.time.run_for(30s);
    CHECK(cluster.finish(newcomer.create("x", get_or_create())).is(Kind::Created));
  }
}

TEST_CASE("a dead owner's id is free for any type, and for whoever is first", "[LOSS-05]") {
  AcquaintedCluster cluster(3);
  cluster.finish(cluster[0].create("x", {}));
  kill(cluster, 0);
  const Creation& one = cluster[1].create("x", {.is_get_or_create = true, .type = "monster"});
  const Creation& other = cluster[2].create("x", {.is_get_or_create = true, .type = "monster"});
  cluster.finish(one);
  cluster.finish(other);
  CHECK(one.factory_runs + other.factory_runs == 1);
  CHECK(one.outcome->object_generation == other.outcome->object_generation);
}

TEST_CASE("a record of this run for something it does not have is a leftover", "[LOSS-05]") {
  AcquaintedCluster cluster(2);
  const Creation& first = cluster.finish(cluster[0].create("x", {}));
  cluster[0].drop("x");
  CHECK_FALSE(cluster[0].find("x")->is_found());
  const Creation& again = cluster.finish(cluster[0].create("x", get_or_create()));
  REQUIRE(again.is(Kind::Created));
  CHECK(again.outcome->object_generation > first.outcome->object_generation);
}

TEST_CASE("a node past its admission writes nothing until it is renewed", "[STORE-05][STORE-07]") {
  AcquaintedCluster cluster(1);
  cluster[0].stop();
  cluster.time.run_for(12s);
  cluster[0].go_on();
  const auto before = cluster.store.commits_applied();
  cluster.store.set_available(false);
  const Creation& creation = cluster[0].create("x", {});
  cluster.finish(creation);
  CHECK(creation.failed_with(ErrorKind::Unavailable));
  CHECK(creation.slots_taken == 0);
  CHECK(cluster.store.commits_applied() == before);
}

TEST_CASE("in the quiet time of a new epoch nothing is created", "[STORE-08]") {
  AcquaintedCluster cluster(2);
  cluster.finish(cluster[0].create("x", {}));
  cluster.time.run_for(3s);
  cluster.store.fail_over(SimStore::max_memory);
  const Creation& quiet = cluster.finish(cluster[1].create("y", {}));
  CHECK(quiet.failed_with(ErrorKind::Unavailable));
  CHECK_THAT(quiet.outcome->error->message(), Contains("epoch"));
  CHECK_FALSE(cluster.record("y").has_value());
  cluster.time.run_for(25s);
  CHECK(cluster.finish(cluster[1].create("y", {})).is(Kind::Created));
}

TEST_CASE("a reservation of the epoch before is not made Ready in the new one", "[STORE-08]") {
  AcquaintedCluster cluster(1);
  const Creation& creation = cluster[0].create("x", {.factory_time = 2s});
  cluster.time.run_for(1s);
  cluster.store.fail_over(Duration{0});
  cluster.finish(creation);
  CHECK(creation.failed_with(ErrorKind::Unavailable));
  CHECK(creation.discards == 1);
  CHECK(creation.slots_freed == 1);
  cluster.time.run_for(30s);
  CHECK(cluster.finish(cluster[0].create("x", {})).is(Kind::Created));
}

TEST_CASE("a reservation whose end the store forgot holds its id only until the epoch is quiet",
          "[STORE-08][RACE-04]") {
  // Without it the id stays Creating for as long as its owner lives.
  const bool is_broken = GENERATE(false, true);
  AcquaintedCluster cluster(2);
  if (is_broken) cluster[1].faults.set_chance("create.keep-forgotten", 1000);
  auto script = answering(create::Failed{Error::unavailable("not now")});
  script.factory_time = 1s;
  const Creation& ended = cluster.finish(cluster[0].create("x", script));
  REQUIRE(ended.failed_with(ErrorKind::Unavailable));
  REQUIRE_FALSE(cluster.record("x").has_value());
  cluster.store.fail_over(500ms);
  REQUIRE(cluster.record("x")->state == AuthorityState::Creating);

  const Creation& quiet = cluster.finish(cluster[1].create("x", get_or_create()));
  CHECK(quiet.failed_with(ErrorKind::DeadlineExceeded));
  CHECK(cluster.record("x")->owner.rid.text == "a");
  cluster.time.run_for(25s);
  CHECK(cluster[1].find("x")->standing == (is_broken ? Standing::Creating : Standing::OwnerLost));
  // Its owner lives all the same.
  CHECK(cluster[1].take_owners_over().empty());
  const Creation& taken = cluster.finish(cluster[1].create("x", get_or_create()));
  CHECK(taken.is(Kind::Created) == !is_broken);
  if (!is_broken) CHECK(cluster.record("x")->takeover_count == 1);
}

TEST_CASE("what is given back by an unknown commit is left over when the store fails over then",
          "[STORE-08][RACE-04]") {
  const auto kind = GENERATE(UnknownCommit::Applied, UnknownCommit::Lost);
  AcquaintedCluster cluster(1);
  cluster.store.behavior() = {.min_latency = 1ms, .max_latency = 1ms};
  auto script = answering(create::Failed{Error::unavailable("not now")});
  script.factory_time = 500ms;
  script.verdict = [&cluster, kind, verdict = script.verdict] {
    cluster[0].client().make_next_unknown(kind);
    return verdict();
  };
  const Creation& creation = cluster[0].create("x", script);
  const auto before = cluster.store.commits_applied();
  while (creation.discards == 0) REQUIRE(cluster.time.run_next());
  // The commit that gives it back is executed, or lost, and before its answer the store forgets it.
  cluster.time.run_for(1500us);
  REQUIRE(cluster.store.commits_applied() - before == (kind == UnknownCommit::Lost ? 1 : 2));
  cluster.store.fail_over(kind == UnknownCommit::Lost ? Duration{0} : Duration{1ms});
  REQUIRE(cluster.record("x")->state == AuthorityState::Creating);
  cluster.finish(creation);
  CHECK(creation.leftover == cluster.record("x")->object_generation);
}
