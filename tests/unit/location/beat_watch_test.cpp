#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "location/beat_watch.hpp"
#include "sample_records.hpp"
#include "test_cluster.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;

namespace {

const LeaseConfig config;
constexpr StoreEpoch epoch{1, 1};

OwnerReading reading_of(std::uint64_t beat, LeaseState state = LeaseState::Live,
                        std::uint64_t generation = 1) {
  return {.lease = LeaseRecord{stamp_of("b", generation), state},
          .lease_version = StoreVersion{epoch, 1},
          .beat_version = StoreVersion{epoch, beat}};
}

// Readings of one owner, each `gap` after the one before, answered at once.
struct Observer {
  OwnerRun run{id_of<OwnerId>("b"), {1}};
  OwnerObservation observation;
  Instant now{100s};

  void see(const OwnerReading& reading, Duration gap) {
    now = now + gap;
    observation.observe(config, run, reading, now, now);
  }
  OwnerVerdict verdict() const { return observation.verdict(config, now); }
  bool may_be_fenced() const { return observation.may_be_fenced(config, now); }
};

}  // namespace

TEST_CASE("an observer that has just started knows nothing until the beat moves", "[STORE-11]") {
  Observer observer;
  CHECK(observer.verdict() == OwnerVerdict::Unproven);
  observer.see(reading_of(1), 0s);
  CHECK(observer.verdict() == OwnerVerdict::Unproven);
  observer.see(reading_of(1), 2s);
  CHECK(observer.verdict() == OwnerVerdict::Unproven);
  observer.see(reading_of(2), 2s);
  CHECK(observer.verdict() == OwnerVerdict::Alive);
}

TEST_CASE("a beat that stands still is silent after the TTL and may be fenced after the margin",
          "[STORE-11][LOSS-02]") {
  Observer observer;
  observer.see(reading_of(1), 0s);
  observer.see(reading_of(2), 2s);
  for (Duration still{0}; still < 40s; still += 2500ms) {
    INFO("still for " << still / 1ms << " ms");
    if (still > 0s) observer.see(reading_of(2), 2500ms);
    const auto expected = still < 15s ? OwnerVerdict::Alive : OwnerVerdict::Silent;
    CHECK(observer.verdict() == expected);
    CHECK(observer.may_be_fenced() == (still >= 20s));
  }
  observer.see(reading_of(3), 2s);
  CHECK(observer.verdict() == OwnerVerdict::Alive);
  CHECK_FALSE(observer.may_be_fenced());
}

TEST_CASE("stillness counts from an answer to a sending, never longer than it was", "[STORE-11]") {
  OwnerObservation observation;
  const OwnerRun run{id_of<OwnerId>("b"), {1}};
  const Instant start{100s};
  // Slow answers: each reading is answered four seconds after it was sent.
  Instant sent = start;
  for (int i = 0; i < 5; ++i) {
    observation.observe(config, run, reading_of(1), sent, sent + 4s);
    sent = sent + 5s;
  }
  // The last was sent 20 s after the first was sent, but 16 s after the first was answered.
  CHECK_FALSE(observation.may_be_fenced(config, start + 24s));
  observation.observe(config, run, reading_of(1), start + 24s, start + 28s);
  CHECK(observation.may_be_fenced(config, start + 28s));
}

TEST_CASE("a gap between readings starts the wait anew", "[RACE-08][STORE-11]") {
  Observer observer;
  observer.see(reading_of(1), 0s);
  observer.see(reading_of(2), 5s);
  for (int i = 0; i < 3; ++i) observer.see(reading_of(2), 5s);
  CHECK(observer.verdict() == OwnerVerdict::Silent);
  observer.see(reading_of(2), 8s + 1ns);
  CHECK(observer.verdict() == OwnerVerdict::Unproven);
  for (int i = 0; i < 3; ++i) observer.see(reading_of(2), 5s);
  CHECK_FALSE(observer.may_be_fenced());
  observer.see(reading_of(2), 5s);
  CHECK(observer.may_be_fenced());
  // Old knowledge is none.
  observer.now = observer.now + 9s;
  CHECK(observer.verdict() == OwnerVerdict::Unproven);
  CHECK_FALSE(observer.may_be_fenced());
}

TEST_CASE("an answer that was overtaken is no movement") {
  Observer observer;
  observer.see(reading_of(1), 0s);
  observer.see(reading_of(2), 2s);
  observer.observation.observe(config, observer.run, reading_of(1), observer.now - 1s,
                               observer.now + 1s);
  for (int i = 0; i < 8; ++i) observer.see(reading_of(2), 2500ms);
  CHECK(observer.may_be_fenced());
}

TEST_CASE("a run is over when its lease is fenced, gone or a later run's") {
  const auto verdict_of = [](const OwnerReading& reading) {
    Observer observer;
    observer.see(reading, 0s);
    return observer.verdict();
  };
  CHECK(verdict_of(reading_of(1, LeaseState::Fenced)) == OwnerVerdict::Fenced);
  CHECK(verdict_of({}) == OwnerVerdict::Fenced);
  CHECK(verdict_of(reading_of(1, LeaseState::Live, 2)) == OwnerVerdict::Fenced);
  CHECK(verdict_of(reading_of(1, LeaseState::Live, 0)) == OwnerVerdict::Unproven);
  OwnerReading damaged = reading_of(1);
  damaged.lease.reset();
  CHECK(verdict_of(damaged) == OwnerVerdict::Unproven);
}

TEST_CASE("a dead owner is silent, then fenced by one of those who watch it, and all hear of it",
          "[STORE-11][LOSS-02][RACE-12]") {
  Cluster cluster(4);
  for (std::size_t i = 1; i < 4; ++i) cluster[i].watch(cluster[0]);
  cluster.time.run_for(30s);
  CHECK(cluster[1].verdict(cluster[0]) == OwnerVerdict::Alive);
  CHECK_FALSE(cluster.has_event(1, "silent a"));

  cluster[0].stop();
  const Instant died = cluster.time.now();
  while (!cluster.has_event(1, "silent a")) REQUIRE(cluster.time.run_next());
  CHECK(cluster.time.now() - died >= 10s);
  while (!cluster.has_event(1, "fenced a")) REQUIRE(cluster.time.run_next());
  // Its last beat is at most one renewal old when it dies.
  CHECK(cluster.time.now() - died >= 15s);
  CHECK(cluster.time.now() - died <= 30s);
  cluster.time.run_for(5s);
  for (std::size_t i = 1; i < 4; ++i) {
    CHECK(cluster.has_event(i, "fenced a"));
    CHECK(cluster[i].verdict(cluster[0]) == OwnerVerdict::Fenced);
  }
  // Back again, it finds itself fenced and ends.
  cluster[0].go_on();
  cluster.time.run_for(5s);
  CHECK(cluster[0].lease_state() == LeaseMachine::State::Ended);
  CHECK(cluster.has_event(0, "fenced"));
}

TEST_CASE("a lease that does not parse is named once, and its run is over when it is deleted",
          "[STORE-02]") {
  Cluster cluster(2);
  cluster[1].watch(cluster[0]);
  cluster.time.run_for(20s);
  cluster[0].stop();
  const std::string key = keys::lease(cluster[0].view().stamp->owner);
  const auto bad_events = [&] {
    return std::ranges::count_if(cluster[1].events(), [&](const std::string& event) {
      return event.starts_with("bad ") && event.find("lease/a") != std::string::npos;
    });
  };
  cluster.store.plant(key, to_bytes("nonsense"));
  cluster.time.run_for(60s);
  CHECK(bad_events() == 1);
  CHECK_FALSE(cluster.has_event(1, "fenced a"));
  cluster.store.plant(key, to_bytes("other nonsense"));
  cluster.time.run_for(20s);
  CHECK(bad_events() == 2);
  // As an operator does it.
  cluster[1].client().commit({.epoch = {}, .conditions = {}, .writes = {{key, std::nullopt}}},
                             [](const CommitResult&) {});
  cluster.time.run_for(5s);
  CHECK(cluster.has_event(1, "fenced a"));
}

TEST_CASE("an owner that is stopped for less than its lease is never fenced and goes on",
          "[STORE-07][LOSS-06]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster(2, seed);
    cluster[1].watch(cluster[0]);
    cluster.time.run_for(20s + Duration(static_cast<Duration::rep>(seed * 250'000'000)));
    cluster[0].stop();
    cluster.time.run_for(14s);
    CHECK_FALSE(cluster[0].view().admits(cluster.time.now()));
    cluster[0].go_on();
    cluster.time.run_for(30s);
    CHECK_FALSE(cluster.has_event(1, "fenced a"));
    CHECK(cluster[0].view().admits(cluster.time.now()));
    CHECK(cluster[1].verdict(cluster[0]) == OwnerVerdict::Alive);
  }
}

TEST_CASE("a store that is away for a minute for everyone makes nobody look dead",
          "[RACE-08][STORE-09]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster(3, seed);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        if (i != j) cluster[i].watch(cluster[j]);
      }
    }
    cluster.time.run_for(20s);
    cluster.store.set_available(false);
    cluster.time.run_for(9s);
    CHECK(cluster[0].view().is_held);
    cluster.time.run_for(51s);
    CHECK_FALSE(cluster[0].view().admits(cluster.time.now()));
    cluster.store.set_available(true);
    cluster.time.run_for(60s);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(cluster[i].view().admits(cluster.time.now()));
      for (const auto& event : cluster[i].events())
        CHECK(event.find("fenced") == std::string::npos);
    }
  }
}

TEST_CASE("a store that takes no commits, however long, makes nobody look dead",
          "[STORE-09][STORE-11]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster(3, seed);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        if (i != j) cluster[i].watch(cluster[j]);
      }
    }
    cluster.time.run_for(20s);
    cluster.store.set_writable(false);
    cluster.time.run_for(8s + Duration(static_cast<Duration::rep>(seed) * 2s));
    // Every beat has stood still, and whoever renews first sees that of all others.
    cluster.store.set_writable(true);
    cluster.time.run_for(60s);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(cluster[i].view().admits(cluster.time.now()));
      for (const auto& event : cluster[i].events()) {
        CHECK(event.find("fenced") == std::string::npos);
      }
    }
    // Who dies afterwards is fenced as ever.
    cluster[0].stop();
    cluster.time.run_for(35s);
    CHECK(cluster.has_event(1, "fenced a"));
  }
}

TEST_CASE("a fence that the store forgot is made good, also by a node that watched nobody else",
          "[STORE-08][LOSS-05]") {
  Cluster cluster(2);
  cluster[1].watch(cluster[0]);
  cluster.time.run_for(20s);
  cluster[0].stop();
  while (!cluster.has_event(1, "fenced a")) REQUIRE(cluster.time.run_next());
  cluster.store.fail_over(2s);
  const std::string key = keys::lease(cluster[0].view().stamp->owner);
  const auto state = [&] {
    return decode_lease(key, cluster.store.contents(key)[0].stored.value)->state;
  };
  REQUIRE(state() == LeaseState::Live);
  cluster.time.run_for(30s);
  CHECK(state() == LeaseState::Live);
  // Somebody deals with it again.
  cluster[1].watch(cluster[0]);
  cluster.time.run_for(40s);
  CHECK(state() == LeaseState::Fenced);
}

TEST_CASE("a lease that was given back is over at once", "[LOSS-05]") {
  Cluster cluster(2);
  cluster[1].watch(cluster[0]);
  cluster.time.run_for(10s);
  cluster[0].release();
  cluster.time.run_for(5s);
  CHECK(cluster.has_event(0, "released"));
  CHECK(cluster.has_event(1, "fenced a"));
  CHECK(cluster.store.contents(keys::lease_prefix).size() == 1);
  CHECK(cluster.store.contents(keys::beat_prefix).size() == 1);
}

TEST_CASE("in a new epoch every live owner is back before anybody may be fenced", "[STORE-08]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Cluster cluster(3, seed);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        if (i != j) cluster[i].watch(cluster[j]);
      }
    }
    cluster.time.run_for(30s + Duration(static_cast<Duration::rep>(seed * 300'000'000)));
    const auto before = cluster[0].view().epoch;
    // Everything that was ever written is forgotten, the leases too.
    cluster.store.fail_over(SimStore::max_memory);
    REQUIRE(cluster.store.contents("").empty());
    cluster.time.run_for(9s);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(cluster.has_event(i, "reasserted"));
      CHECK(cluster[i].view().admits(cluster.time.now()));
      CHECK_FALSE(cluster[i].view().may_create(cluster.time.now()));
      CHECK_FALSE(cluster[i].view().epoch == before);
    }
    TestNode late(cluster.store, cluster.time, cluster.random, "late");
    cluster.time.run_for(1s);
    CHECK(late.view().stamp->lease_generation.value > (1U << 20));
    CHECK(late.view().admits(cluster.time.now()));
    CHECK_FALSE(late.view().may_create(cluster.time.now()));
    cluster.time.run_for(30s);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(cluster[i].view().may_create(cluster.time.now()));
      for (const auto& event : cluster[i].events())
        CHECK(event.find("fenced") == std::string::npos);
    }
    CHECK(late.view().may_create(cluster.time.now()));
    // The epoch is settled, so the next comer need not wait.
    TestNode last(cluster.store, cluster.time, cluster.random, "last");
    cluster.time.run_for(1s);
    CHECK(last.view().may_create(cluster.time.now()));
  }
}

TEST_CASE("an owner whose fence the store has forgotten is watched and fenced again",
          "[STORE-08][LOSS-05]") {
  Cluster cluster(2);
  cluster[0].watch(cluster[1]);
  cluster.time.run_for(5s);
  cluster[1].stop();
  while (cluster[0].verdict(cluster[1]) != OwnerVerdict::Fenced) REQUIRE(cluster.time.run_next());
  // Of those whom the node watches none is left that could tell it of the new epoch.
  cluster.store.fail_over(1s);
  cluster.time.run_for(10s);
  CHECK(cluster[0].verdict(cluster[1]) == OwnerVerdict::Unproven);
  cluster[0].watch(cluster[1]);
  cluster.time.run_for(50s);
  CHECK(cluster[0].verdict(cluster[1]) == OwnerVerdict::Fenced);
  const auto leases = cluster.store.contents(keys::lease(cluster[1].run().owner));
  REQUIRE(leases.size() == 1);
  CHECK(decode_lease(leases[0].key, leases[0].stored.value)->state == LeaseState::Fenced);
}

TEST_CASE("an epoch that has forgotten the one before it gives out other lease generations",
          "[ID-05][STORE-08]") {
  Cluster cluster(1);
  cluster.time.run_for(60s);
  cluster[0].stop();
  cluster.store.fail_over(0s);
  const std::uint64_t forgotten = cluster.add("b").run().generation.value;
  cluster[1].stop();
  cluster.store.fail_over(1s);
  CHECK(cluster.add("c").run().generation.value != forgotten);
}

TEST_CASE("no two runs ever hold one lease generation, however unclear the store", "[ID-08]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ManualTime time;
    TestRandom random(seed);
    SimStore store(time, random,
                   {.max_latency = 300ms, .unavailable_per_mille = 200, .unknown_per_mille = 300});
    std::vector<std::unique_ptr<TestNode>> nodes;
    for (int i = 0; i < 8; ++i) {
      nodes.push_back(std::make_unique<TestNode>(store, time, random, "n" + std::to_string(i)));
    }
    time.run_for(60s);
    std::vector<std::uint64_t> generations;
    for (auto& node : nodes) {
      REQUIRE(node->view().stamp);
      generations.push_back(node->view().stamp->lease_generation.value);
    }
    std::sort(generations.begin(), generations.end());
    CHECK(std::adjacent_find(generations.begin(), generations.end()) == generations.end());
  }
}

TEST_CASE("an owner that nobody deals with any more is no longer watched, unless it is silent",
          "[STORE-11]") {
  Cluster cluster(3);
  cluster[0].watch(cluster[1]);
  cluster[0].watch(cluster[2]);
  cluster.time.run_for(4min);
  cluster[0].watch(cluster[2]);
  REQUIRE(cluster[0].verdict(cluster[1]) == OwnerVerdict::Alive);
  cluster.time.run_for(2min);
  CHECK(cluster[0].verdict(cluster[1]) == OwnerVerdict::Unproven);
  CHECK(cluster[0].verdict(cluster[2]) == OwnerVerdict::Alive);
  cluster[2].stop();
  cluster.time.run_for(6min);
  CHECK(cluster[0].verdict(cluster[2]) == OwnerVerdict::Fenced);
}
