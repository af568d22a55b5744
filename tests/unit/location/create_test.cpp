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

TEST_CASE("a free id is reserved, made and Ready with its membership and terminal",
          "[CREATE-01][CREATE-14]") {
  AcquaintedCluster cluster(1);
  const Membership entry{.spot = id_of<SpotId>("a-entry-1"),
                         .spot_generation = {5},
                         .spot_owner_generation_at_join = {},
                         .owner_follows_spot = false};
  auto script =
      answering(create::Accepted{.membership = entry, .spot = {}, .reply = reply_of("welcome")});
  script.factory_time = 100ms;
  const Creation& creation = cluster[0].create("x", script);
  cluster.time.run_for(50ms);
  // Pending: reserved in the store, found by nobody.
  REQUIRE(cluster.record("x"));
  CHECK(cluster.record("x")->state == AuthorityState::Creating);
  CHECK_FALSE(cluster.record("x")->membership.has_value());
  CHECK_FALSE(cluster[0].find("x")->is_found());
  CHECK(creation.answers == 0);

  cluster.finish(creation);
  REQUIRE(creation.is(Kind::Created));
  CHECK(creation.outcome->reply == reply_of("welcome"));
  CHECK(creation.factory_runs == 1);
  CHECK(creation.slots_taken == 1);
  CHECK(creation.slots_freed == 0);
  const auto record = cluster.record("x");
  REQUIRE(record);
  CHECK(record->state == AuthorityState::Ready);
  CHECK(record->membership == entry);
  CHECK(record->owner == *cluster[0].view().stamp);
  CHECK(record->owner_generation.value == 1);
  CHECK(record->object_generation == creation.outcome->object_generation);
  REQUIRE(record->terminals.size() == 1);
  CHECK(record->terminals[0].reply == reply_of("welcome"));
  CHECK(*record == creation.outcome->authority->record);
  CHECK(cluster[0].find("x")->is_found());
}

TEST_CASE("an id that is Ready is AlreadyExists to create and Existing to get_or_create",
          "[CREATE-02][CREATE-03]") {
  AcquaintedCluster cluster(2);
  const Creation& first = cluster.finish(cluster[0].create("x", {}));
  const auto commits = cluster.store.contents(keys::actor_prefix)[0].stored.version;
  for (std::size_t node = 0; node < 2; ++node) {
    const Creation& create = cluster.finish(cluster[node].create("x", {}));
    CHECK(create.failed_with(ErrorKind::AlreadyExists));
    CHECK_THAT(create.outcome->error->message(), Contains("\"x\"") && Contains("node a"));
    const Creation& get = cluster.finish(cluster[node].create("x", get_or_create()));
    REQUIRE(get.is(Kind::Existing));
    CHECK(get.outcome->object_generation == first.outcome->object_generation);
    CHECK(get.outcome->owner->rid.text == "a");
    CHECK_FALSE(get.outcome->reply.has_value());
    for (const Creation* each : {&create, &get}) {
      CHECK(each->factory_runs == 0);
      CHECK(each->slots_taken == 0);
      CHECK(each->answers == 1);
    }
  }
  CHECK(cluster.store.contents(keys::actor_prefix)[0].stored.version == commits);
}

TEST_CASE("another type on the id is TypeMismatch with both names, Creating or Ready",
          "[CREATE-04]") {
  AcquaintedCluster cluster(2);
  const Creation& first = cluster[0].create("x", {.factory_time = 1s});
  cluster.time.run_for(100ms);
  for (const bool is_ready : {false, true}) {
    if (is_ready) cluster.finish(first);
    for (const bool is_get : {false, true}) {
      const Creation& other =
          cluster.finish(cluster[1].create("x", {.is_get_or_create = is_get, .type = "monster"}));
      CHECK(other.failed_with(ErrorKind::TypeMismatch));
      CHECK_THAT(other.outcome->error->message(), Contains("player") && Contains("monster"));
    }
  }
}

TEST_CASE("while another creates, both calls wait and then see what became of it",
          "[CREATE-05][CREATE-06]") {
  AcquaintedCluster cluster(2);
  SECTION("accepted") {
    const Creation& first = cluster[0].create("x", {.factory_time = 800ms});
    cluster.time.run_for(100ms);
    const Creation& get = cluster[1].create("x", get_or_create());
    const Creation& create = cluster[1].create("x", {});
    cluster.time.run_for(300ms);
    CHECK(get.answers + create.answers == 0);
    cluster.finish(get);
    cluster.finish(create);
    CHECK(first.is(Kind::Created));
    CHECK(get.is(Kind::Existing));
    CHECK_FALSE(get.outcome->reply.has_value());
    CHECK(create.failed_with(ErrorKind::AlreadyExists));
    CHECK(get.factory_runs + create.factory_runs == 0);
  }
  SECTION("rejected: the waiter competes with a reservation of its own") {
    auto refuse = answering(create::Rejected{});
    refuse.factory_time = 500ms;
    const Creation& first = cluster[0].create("x", refuse);
    cluster.time.run_for(100ms);
    const Creation& second = cluster.finish(cluster[1].create("x", {}));
    CHECK(first.is(Kind::Rejected));
    CHECK(second.is(Kind::Created));
    CHECK(second.factory_runs == 1);
    CHECK(cluster.record("x")->owner.rid.text == "b");
  }
  SECTION("never done: the deadline says so") {
    auto slow = get_or_create();
    slow.factory_time = 60s;
    slow.timeout = 50s;
    cluster[0].create("x", slow);
    cluster.time.run_for(100ms);
    const Instant asked = cluster.time.now();
    const Creation& waiting = cluster.finish(cluster[1].create("x", {}));
    CHECK(waiting.failed_with(ErrorKind::DeadlineExceeded));
    CHECK(waiting.answered_at == asked + 5s);
  }
}

TEST_CASE("of 32 get_or_create from four nodes one creates, and 31 are told of it", "[CREATE-07]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    AcquaintedCluster cluster(4, seed);
    cluster.store.behavior().unknown_per_mille = seed % 3 == 0 ? 300 : 0;
    std::vector<const Creation*> creations;
    for (std::size_t i = 0; i < 32; ++i) {
      creations.push_back(&cluster[i % 4].create("x", get_or_create()));
    }
    int created = 0;
    int existing = 0;
    int factory_runs = 0;
    for (const Creation* creation : creations) {
      cluster.finish(*creation);
      created += creation->is(Kind::Created) ? 1 : 0;
      existing += creation->is(Kind::Existing) ? 1 : 0;
      factory_runs += creation->factory_runs;
      CHECK(creation->outcome->object_generation == cluster.record("x")->object_generation);
    }
    CHECK(created == 1);
    CHECK(existing == 31);
    CHECK(factory_runs == 1);
  }
}

TEST_CASE("a rejection or failure gives authority and capacity back", "[CREATE-12][CREATE-13]") {
  AcquaintedCluster cluster(1);
  SECTION("rejected with a reply") {
    const Creation& creation = cluster.finish(
        cluster[0].create("x", answering(create::Rejected{.reply = reply_of("full")})));
    REQUIRE(creation.is(Kind::Rejected));
    CHECK(creation.outcome->reply == reply_of("full"));
    CHECK(creation.discards == 1);
    CHECK(creation.slots_freed == 1);
  }
  SECTION("thrown") {
    const Creation& creation = cluster.finish(
        cluster[0].create("x", answering(create::Failed{Error::internal_failure("it threw")})));
    CHECK(creation.failed_with(ErrorKind::InternalFailure));
    CHECK(creation.discards == 1);
    CHECK(creation.slots_freed == 1);
  }
  CHECK_FALSE(cluster[0].find("x")->is_found());
  CHECK(cluster[0].find("x")->standing == Standing::Missing);
  const Creation& again = cluster.finish(cluster[0].create("x", {}));
  CHECK(again.is(Kind::Created));
}

TEST_CASE("what the store does not take fails the creation, and its id is free again",
          "[CREATE-13]") {
  AcquaintedCluster cluster(1);
  create::Accepted accepted;
  accepted.reply = reply_of(std::string(max_store_value_bytes, 'r'));
  const Creation& creation = cluster.finish(cluster[0].create("x", answering(accepted)));
  CHECK(creation.failed_with(ErrorKind::InternalFailure));
  CHECK(creation.discards == 1);
  CHECK(creation.slots_freed == 1);
  CHECK(creation.answers == 1);
  REQUIRE(cluster.record("x"));
  CHECK(cluster.record("x")->state == AuthorityState::Vacant);
  CHECK(cluster.finish(cluster[0].create("x", {})).is(Kind::Created));
}

TEST_CASE("a node without room refuses without a trace in the store") {
  AcquaintedCluster cluster(1);
  TestNode::Script full;
  full.slot_error = Error::capacity_exceeded("all slots are taken");
  const Creation& creation = cluster.finish(cluster[0].create("x", full));
  CHECK(creation.failed_with(ErrorKind::CapacityExceeded));
  CHECK_FALSE(cluster.record("x").has_value());
  CHECK(creation.slots_freed == 0);
  // What exists needs no room.
  cluster.finish(cluster[0].create("y", {}));
  full.is_get_or_create = true;
  CHECK(cluster.finish(cluster[0].create("y", full)).is(Kind::Existing));
}

TEST_CASE("a slow factory ends in DeadlineExceeded at that moment, and is given back",
          "[CREATE-09]") {
  AcquaintedCluster cluster(1);
  const Instant asked = cluster.time.now();
  const Creation& creation = cluster[0].create("x", {.timeout = 1s, .factory_time = 3s});
  cluster.finish(creation);
  CHECK(creation.failed_with(ErrorKind::DeadlineExceeded));
  CHECK(creation.answered_at == asked + 1s);
  CHECK(creation.discards == 1);
  CHECK(creation.slots_freed == 1);
  cluster.time.run_for(5s);
  CHECK(creation.answers == 1);
  CHECK_FALSE(cluster[0].is_exposed("x"));
  CHECK(cluster[0].find("x")->standing == Standing::Missing);
}

TEST_CASE("a resend of one operation gets its first answer and runs nothing", "[DURABLE-03]") {
  AcquaintedCluster cluster(2);
  TestNode::Script script;
  script.operation = operation_of(77);
  SECTION("created") {
    const Creation& first = cluster.finish(cluster[0].create("x", script));
    const Creation& resent = cluster.finish(cluster[1].create("x", script));
    REQUIRE(resent.is(Kind::Created));
    CHECK(resent.outcome->is_replay);
    CHECK(resent.outcome->object_generation == first.outcome->object_generation);
    CHECK(resent.outcome->reply == reply_of("welcome"));
    CHECK(resent.outcome->owner->rid.text == "a");
    CHECK(resent.factory_runs == 0);
  }
  SECTION("rejected") {
    script.verdict = [] { return create::Rejected{.reply = reply_of("no")}; };
    cluster.finish(cluster[0].create("x", script));
    const Creation& resent = cluster.finish(cluster[1].create("x", script));
    REQUIRE(resent.is(Kind::Rejected));
    CHECK(resent.outcome->reply == reply_of("no"));
    CHECK(resent.factory_runs == 0);
    // Another operation has the id, and this one still has its answer.
    CHECK(cluster.finish(cluster[1].create("x", {})).is(Kind::Created));
    CHECK(cluster.finish(cluster[0].create("x", script)).is(Kind::Rejected));
  }
  SECTION("failed") {
    script.verdict = [] { return create::Failed{Error::internal_failure("it threw")}; };
    cluster.finish(cluster[0].create("x", script));
    const Creation& resent = cluster.finish(cluster[1].create("x", script));
    CHECK(resent.failed_with(ErrorKind::InternalFailure));
    CHECK(resent.factory_runs == 0);
  }
}

TEST_CASE("an unknown reservation that was applied runs one factory, one that was not competes",
          "[RACE-04][CREATE-14]") {
  const auto kind = GENERATE(UnknownCommit::Applied, UnknownCommit::Late, UnknownCommit::Lost);
  AcquaintedCluster cluster(1);
  cluster[0].client().make_next_unknown(kind);
  const Creation& creation = cluster.finish(cluster[0].create("x", {}));
  CHECK(creation.is(Kind::Created));
  CHECK(creation.factory_runs == 1);
  CHECK(creation.slots_taken - creation.slots_freed == 1);
  CHECK(creation.slots_freed == (kind == UnknownCommit::Lost ? 1 : 0));
}

TEST_CASE("whoever gives back tells which record it has left, also when that was unknown",
          "[CREATE-12][RACE-04]") {
  const auto kind = GENERATE(UnknownCommit::Applied, UnknownCommit::Late, UnknownCommit::Lost);
  AcquaintedCluster cluster(1);
  auto refuse = answering(create::Rejected{});
  refuse.factory_time = 500ms;
  const Creation& creation = cluster[0].create("x", refuse);
  cluster.time.run_for(400ms);
  cluster[0].client().make_next_unknown(kind);
  cluster.finish(creation);
  CHECK(creation.is(Kind::Rejected));
  REQUIRE(creation.vacant.has_value());
  const auto stored = cluster.store.contents(keys::actor_prefix);
  REQUIRE(stored.size() == 1);
  CHECK(creation.vacant->version == stored.front().stored.version);
  CHECK(creation.vacant->keep_until.unix_milliseconds ==
        cluster.record("x")->terminals.front().keep_until.unix_milliseconds);
  // What carries no terminal is deleted at once.
  cluster[0].client().make_next_unknown(kind);
  const Creation& failed = cluster.finish(
      cluster[0].create("y", answering(create::Failed{Error::unavailable("not now")})));
  CHECK_FALSE(failed.vacant.has_value());
  CHECK_FALSE(cluster.record("y").has_value());
}

TEST_CASE("an unknown Ready is settled before anybody is told, also past the deadline",
          "[RACE-04]") {
  const auto kind = GENERATE(UnknownCommit::Applied, UnknownCommit::Late, UnknownCommit::Lost);
  AcquaintedCluster cluster(1);
  cluster.store.behavior() = {.min_latency = 1ms, .max_latency = 1ms};
  const Instant asked = cluster.time.now();
  const Creation& creation = cluster[0].create("x", {.timeout = 1s, .factory_time = 500ms});
  cluster.time.run_for(400ms);
  cluster[0].client().make_next_unknown(kind);
  // The read takes 2 ms, the reservation 2 ms, the factory 500 ms; the commit that makes it Ready
  // has been answered by now, and the read that is to settle it has not reached the store.
  cluster.time.run_for(asked + 506500us - cluster.time.now());
  cluster.store.set_available(false);
  cluster.time.run_for(asked + 3s - cluster.time.now());
  CHECK(creation.answers == 0);
  cluster.store.set_available(true);
  cluster.finish(creation);
  CHECK(creation.answers == 1);
  CHECK(creation.answered_at > asked + 3s);
  const bool is_ready = cluster[0].find("x")->is_found();
  CHECK(is_ready == (kind != UnknownCommit::Lost));
  CHECK(is_ready == creation.is(Kind::Created));
  CHECK(is_ready == cluster[0].is_exposed("x"));
  CHECK(creation.slots_freed == (is_ready ? 0 : 1));
  CHECK(creation.discards == (is_ready ? 0 : 1));
}

TEST_CASE("past its time a resend is a new operation", "[DURABLE-03]") {
  AcquaintedCluster cluster(1);
  TestNode::Script script = answering(create::Rejected{.reply = reply_of("no")});
  script.operation = operation_of(77);
  cluster.finish(cluster[0].create("x", script));
  script.verdict = TestNode::Script().verdict;
  script.wall_now = {1'300'000};
  CHECK(cluster.finish(cluster[0].create("x", script)).is(Kind::Rejected));
  script.wall_now = {1'300'001};
  const Creation& anew = cluster.finish(cluster[0].create("x", script));
  CHECK(anew.is(Kind::Created));
  CHECK_FALSE(anew.outcome->is_replay);
}

TEST_CASE("a stop ends what has not been decided, and gives back what was reserved") {
  AcquaintedCluster cluster(1);
  const Creation& running = cluster[0].create("x", {.factory_time = 1s});
  cluster.time.run_for(100ms);
  const Creation& waiting = cluster[0].create("x", {});
  cluster.time.run_for(100ms);
  cluster[0].stop_creations();
  cluster.finish(running);
  cluster.finish(waiting);
  CHECK(running.failed_with(ErrorKind::ShuttingDown));
  CHECK(waiting.failed_with(ErrorKind::ShuttingDown));
  CHECK(running.slots_freed == 1);
  cluster.time.run_for(2s);
  CHECK(cluster[0].find("x")->standing == Standing::Missing);
}

TEST_CASE("a damaged record is DataLost for its id and nothing to the others", "[STORE-02]") {
  AcquaintedCluster cluster(1);
  cluster[0].client().commit(
      {.epoch = {},
       .conditions = {},
       .writes = {{keys::actor(id_of<ActorId>("bad")), to_bytes("garbage")}}},
      [](const CommitResult&) {});
  cluster.time.run_for(100ms);
  const Creation& bad = cluster.finish(cluster[0].create("bad", get_or_create()));
  CHECK(bad.failed_with(ErrorKind::DataLost));
  CHECK_THAT(bad.outcome->error->message(), Contains("spotmesh/actor/bad"));
  CHECK(cluster[0].find("bad").error().kind() == ErrorKind::DataLost);
  CHECK(cluster.finish(cluster[0].create("good", {})).is(Kind::Created));
}
