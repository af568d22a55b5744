// A primary that Sentinel watches, and what a fail-over leaves.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "redis_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using std::chrono::steady_clock;
using Outcome = spotmesh::location::CommitResult::Outcome;

namespace {

store::RedisOptions sentinel_options(const RedisProcess& sentinel, const std::string& name) {
  auto options = store::parse_redis_url(
      fmt::format("redis+sentinel://127.0.0.1:{}/{}?prefix=game", sentinel.port(), name));
  REQUIRE(options);
  options->operation_timeout = 500ms;
  options->connect_timeout = 250ms;
  options->sentinel_interval = 100ms;
  return std::move(*options);
}

// Asks until the answer has these words in it; each answer is a round trip.
void wait_for(RedisClient& client, const std::vector<std::string>& question,
              const std::string& words) {
  const auto end = steady_clock::now() + 30s;
  std::string answer;
  do {
    answer = client.call(question);
    if (answer.find(words) != std::string::npos) return;
  } while (steady_clock::now() < end);
  FAIL("'" << words << "' is not in: " << answer);
}

struct WatchedPair {
  RedisProcess primary;
  RedisProcess replica{{fmt::format("replicaof 127.0.0.1 {}", primary.port())}};
  RedisProcess sentinel = RedisProcess::sentinel_of(primary);

  WatchedPair() {
    RedisClient client(primary.port());
    wait_for(client, {"INFO", "replication"}, "state=online");
    RedisClient watcher(sentinel.port());
    wait_for(watcher, {"SENTINEL", "REPLICAS", "primary"}, std::to_string(replica.port()));
  }
};

}  // namespace

TEST_CASE("a primary that Sentinel does not know is said to be so") {
  const RedisProcess primary;
  const RedisProcess sentinel = RedisProcess::sentinel_of(primary);
  const Error error = redis_open_error(sentinel_options(sentinel, "other"));
  CHECK(error.kind() == ErrorKind::NotFound);
  CHECK_THAT(error.message(), Contains("'other'"));
}

TEST_CASE("of several Sentinels one that answers is enough") {
  const RedisProcess primary;
  const RedisProcess sentinel = RedisProcess::sentinel_of(primary);
  auto options = sentinel_options(sentinel, "primary");
  options.addresses.insert(options.addresses.begin(), {"127.0.0.1", free_port()});
  OpenedRedis redis(options);
  redis.calls().put("key", "1");
  CHECK(redis.calls().get_text("key") == "1");
  CHECK_THAT(redis.warnings(), Contains("min-replicas-to-write 1"));
}

TEST_CASE("a fail-over that loses a commit shows another epoch", "[STORE-08]") {
  WatchedPair pair;
  OpenedRedis redis(sentinel_options(pair.sentinel, "primary"));
  auto calls = redis.calls();
  const StoreVersion kept = calls.put("kept", "1");
  RedisClient primary(pair.primary.port());
  {
    RedisClient replica(pair.replica.port());
    wait_for(replica, {"HGET", "{game}:spotmesh:records", "kept"}, " 1");
  }
  pair.replica.freeze();
  primary.call({"CLIENT", "KILL", "TYPE", "replica"});
  const StoreVersion lost = calls.put("lost", "1");
  CHECK(lost.epoch == kept.epoch);
  pair.primary.kill_now();
  pair.replica.thaw();

  CHECK(redis.get_in_time("kept") == "1");
  CHECK(calls.get_text("lost") == "(absent)");
  CHECK_FALSE(redis.epoch() == kept.epoch);
  const auto late =
      calls.commit({.epoch = kept.epoch, .conditions = {}, .writes = {put("kept", "2")}});
  REQUIRE(late.outcome == Outcome::Conflict);
  CHECK(late.failed_key.empty());
  CHECK(calls.put("kept", "3").counter > kept.counter);
}

TEST_CASE("a primary that stands still is left for the one that Sentinel names", "[STORE-08]") {
  WatchedPair pair;
  OpenedRedis redis(sentinel_options(pair.sentinel, "primary"));
  auto calls = redis.calls();
  const StoreVersion before = calls.put("key", "before");
  {
    RedisClient replica(pair.replica.port());
    wait_for(replica, {"HGET", "{game}:spotmesh:records", "key"}, "before");
  }
  pair.primary.freeze();
  const auto unknown = calls.commit(
      {.epoch = {}, .conditions = {same("key", before)}, .writes = {put("key", "after")}});
  CHECK(unknown.outcome == Outcome::Unknown);
  CHECK(redis.get_in_time("key") == "before");
  CHECK_FALSE(redis.epoch() == before.epoch);
  const StoreVersion taken = calls.put("key", "taken");
  // The former primary executes what it had not read, alone; nobody asks it any more.
  pair.primary.thaw();
  RedisClient former(pair.primary.port());
  wait_for(former, {"INFO", "replication"}, "role:slave");
  CHECK(calls.get_text("key") == "taken");
  CHECK(calls.get("key")->version == taken);
}
