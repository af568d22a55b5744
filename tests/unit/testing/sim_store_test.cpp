#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "support/manual_time.hpp"
#include "support/store_calls.hpp"
#include "testing/sim_store.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Outcome = spotmesh::location::CommitResult::Outcome;

namespace {

class SimWaiter : public Waiter {
 public:
  explicit SimWaiter(ManualTime& time) : time_(time) {}
  void pass() override { time_.run_next(); }

 private:
  ManualTime& time_;
};

struct World {
  ManualTime time;
  TestRandom random;
  SimStore store;
  SimWaiter waiter{time};

  explicit World(std::uint64_t seed = 1, SimStoreBehavior behavior = {})
      : random(seed), store(time, random, behavior) {}
};

// What a run of many operations under faults looks like from outside.
std::vector<std::string> trace_of(std::uint64_t seed) {
  World world(seed, {.max_latency = 20ms,
                     .unavailable_per_mille = 50,
                     .unknown_per_mille = 100,
                     .lost_hints_per_mille = 200,
                     .repeated_hints_per_mille = 200});
  auto client = world.store.connect("a");
  std::vector<std::string> trace;
  client->watch("", [&](std::string_view key) { trace.push_back("hint " + std::string(key)); });
  for (int i = 0; i < 100; ++i) {
    client->commit(
        {.epoch = {}, .conditions = {}, .writes = {put("k" + std::to_string(i % 5), "x")}},
        [&, i](const CommitResult& result) {
          trace.push_back(std::to_string(i) + " " +
                          std::to_string(static_cast<int>(result.outcome)) + " at " +
                          std::to_string(world.time.now().since_origin.count()));
        });
  }
  world.time.run_all();
  return trace;
}

}  // namespace

TEST_CASE("one seed gives one run, another seed another") {
  CHECK(trace_of(3) == trace_of(3));
  CHECK(trace_of(3) != trace_of(4));
}

TEST_CASE("a store or client that is away answers Unavailable after its latency") {
  World world(1, {.min_latency = 1ms, .max_latency = 2ms});
  auto first = world.store.connect("first");
  auto second = world.store.connect("second");
  StoreCalls here(*first, world.waiter);
  StoreCalls there(*second, world.waiter);
  here.put("key", "1");

  first->set_available(false);
  CHECK(here.read({"key"}).error().kind() == ErrorKind::Unavailable);
  CHECK(there.get_text("key") == "1");
  first->set_available(true);

  world.store.set_available(false);
  const Instant asked = world.time.now();
  CHECK(there.commit({.epoch = {}, .conditions = {}, .writes = {put("key", "2")}}).outcome ==
        Outcome::Unavailable);
  CHECK(world.time.now() - asked >= 2ms);
  CHECK(there.scan("", "", 1).error().kind() == ErrorKind::Unavailable);
  world.store.set_available(true);
  CHECK(here.get_text("key") == "1");
}

TEST_CASE("a fail-over forgets what was written last and shows a new epoch", "[STORE-08]") {
  World world;
  auto client = world.store.connect("a");
  StoreCalls calls(*client, world.waiter);
  const StoreVersion kept = calls.put("kept", "old");
  calls.put("deleted", "x");
  world.time.run_for(10s);
  calls.put("kept", "new");
  const StoreVersion made = calls.put("made", "x");
  calls.commit({.epoch = {}, .conditions = {}, .writes = {erase("deleted")}});

  world.store.fail_over(5s);
  CHECK(calls.get_text("kept") == "old");
  CHECK(calls.get_text("deleted") == "x");
  CHECK(calls.get_text("made") == "(absent)");
  const auto now = calls.get("kept")->version;
  CHECK_FALSE(now.epoch == kept.epoch);
  CHECK(now.counter == kept.counter);
  // Versions of the epoch before fit nothing any more, though counters come again.
  CHECK(
      calls.commit({.epoch = {}, .conditions = {same("kept", kept)}, .writes = {put("kept", "y")}})
          .outcome == Outcome::Conflict);
  CHECK(calls.put("again", "x").counter <= made.counter);
}

TEST_CASE("an unknown commit can be applied before its answer, after it, or never") {
  World world;
  auto client = world.store.connect("a");
  StoreCalls calls(*client, world.waiter);
  const auto commit_unknown = [&](UnknownCommit kind) {
    client->make_next_unknown(kind);
    const auto result = calls.commit({.epoch = {}, .conditions = {}, .writes = {put("key", "x")}});
    CHECK(result.outcome == Outcome::Unknown);
    return world.store.contents("key").size();
  };
  CHECK(commit_unknown(UnknownCommit::Applied) == 1);
  calls.commit({.epoch = {}, .conditions = {}, .writes = {erase("key")}});
  CHECK(commit_unknown(UnknownCommit::Lost) == 0);
  world.time.run_for(1s);
  CHECK(world.store.contents("key").empty());
  CHECK(commit_unknown(UnknownCommit::Late) == 0);
  SECTION("by itself") { world.time.run_for(1s); }
  SECTION("at the latest by the next operation") { calls.get("other"); }
  CHECK(world.store.contents("key").size() == 1);
}

TEST_CASE("hints can be lost, repeated and late") {
  const auto hints_with = [](SimStoreBehavior behavior) {
    World world(5, behavior);
    auto client = world.store.connect("a");
    StoreCalls calls(*client, world.waiter);
    std::size_t hints = 0;
    client->watch("k/", [&](std::string_view key) {
      CHECK(key == "k/1");
      ++hints;
    });
    for (int i = 0; i < 100; ++i) {
      calls.put("k/1", "x");
      calls.put("other", "x");
    }
    world.time.run_all();
    return hints;
  };
  CHECK(hints_with({}) == 100);
  CHECK(hints_with({.lost_hints_per_mille = 1000}) == 0);
  CHECK(hints_with({.repeated_hints_per_mille = 1000}) == 200);
  const auto some = hints_with({.lost_hints_per_mille = 500});
  CHECK(some > 20);
  CHECK(some < 80);
}

TEST_CASE("a client that dies learns nothing more, and what it sent may still be applied") {
  World world(1, {.min_latency = 1ms, .max_latency = 1ms});
  auto client = world.store.connect("a");
  std::vector<CommitResult> answers;
  client->commit({.epoch = {}, .conditions = {}, .writes = {put("key", "x")}},
                 [&](CommitResult result) { answers.push_back(std::move(result)); });
  client.reset();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].outcome == Outcome::Unknown);
  world.time.run_all();
  CHECK(answers.size() == 1);
  CHECK(world.store.contents("key").size() == 1);
}
