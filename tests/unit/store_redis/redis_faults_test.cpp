// Connections that are cut, servers that stop and come back.
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cutting_proxy.hpp"
#include "redis_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using std::chrono::steady_clock;
using Mode = CuttingProxy::Mode;
using Outcome = spotmesh::location::CommitResult::Outcome;

TEST_CASE("a commit whose connection is cut is unknown, and settled by the next answer",
          "[STORE-02]") {
  const RedisProcess server;
  CuttingProxy proxy(server.port());
  OpenedRedis redis(redis_options(proxy.port()));
  auto calls = redis.calls();
  for (const Mode mode : {Mode::CutBeforeServer, Mode::CutAfterServer}) {
    const StoreVersion before = calls.put("key", "before");
    const Commit commit = {
        .epoch = {}, .conditions = {same("key", before)}, .writes = {put("key", "after")}};
    proxy.set_mode(mode);
    const auto unknown = calls.commit(commit);
    REQUIRE(unknown.outcome == Outcome::Unknown);
    CHECK_THAT(unknown.message, Contains(std::to_string(proxy.port())));
    const bool is_applied = mode == Mode::CutAfterServer;
    CHECK(calls.get_text("key") == (is_applied ? "after" : "before"));
    CHECK(calls.commit(commit).outcome == (is_applied ? Outcome::Conflict : Outcome::Ok));
  }
}

TEST_CASE("a reading whose connection is cut is asked again") {
  const RedisProcess server;
  CuttingProxy proxy(server.port());
  OpenedRedis redis(redis_options(proxy.port()));
  redis.calls().put("key", "1");
  for (const Mode mode : {Mode::CutBeforeServer, Mode::CutAfterServer}) {
    proxy.set_mode(mode);
    CHECK(redis.calls().get_text("key") == "1");
    CHECK(proxy.mode() == Mode::Relay);
  }
}

TEST_CASE("a commit that lies between here and the server is not applied after a later answer",
          "[STORE-02]") {
  const RedisProcess server;
  CuttingProxy proxy(server.port());
  OpenedRedis redis(redis_options(proxy.port()));
  auto calls = redis.calls();
  const StoreVersion before = calls.put("key", "before");
  proxy.set_mode(Mode::HoldRequests);
  while (proxy.held() == 0) std::this_thread::yield();
  const auto unknown = calls.commit(
      {.epoch = {}, .conditions = {same("key", before)}, .writes = {put("key", "late")}});
  REQUIRE(unknown.outcome == Outcome::Unknown);
  CHECK_THAT(unknown.message, Contains("does not answer"));
  REQUIRE(redis.get_in_time("key") == "before");
  // What was held is let go; what it was to be sent on is gone.
  proxy.set_mode(Mode::Relay);
  while (proxy.held() > 0) std::this_thread::yield();
  for (int round = 0; round < 20; ++round) CHECK(calls.get_text("key") == "before");
}

TEST_CASE("whatever is cut, a number that rivals count up counts every success once",
          "[STORE-02][STORE-03]") {
  const RedisProcess server;
  CuttingProxy proxy(server.port());
  OpenedRedis cut(redis_options(proxy.port()));
  OpenedRedis steady(redis_options(server.port()));
  steady.calls().put("number", "0");
  std::uint64_t counted = 0;
  for (int round = 0; round < 60; ++round) {
    auto calls = (round % 4 == 3 ? steady : cut).calls();
    const auto seen = calls.get("number");
    const std::string next = std::to_string(std::stoi(std::string(as_text(seen->value))) + 1);
    const Commit commit = {.epoch = {},
                           .conditions = {same("number", seen->version)},
                           .writes = {put("number", next), put("by-" + std::to_string(round), "")}};
    if (round % 4 < 2) {
      proxy.set_mode(round % 4 == 0 ? Mode::CutBeforeServer : Mode::CutAfterServer);
    }
    const auto result = calls.commit(commit);
    if (result.outcome == Outcome::Ok) {
      ++counted;
    } else {
      REQUIRE(result.outcome == Outcome::Unknown);
      counted += cut.get_in_time("by-" + std::to_string(round)).empty() ? 1 : 0;
    }
    REQUIRE(steady.calls().get_text("number") == std::to_string(counted));
  }
}

TEST_CASE("a server that was killed comes back with another epoch", "[STORE-08][STORE-09]") {
  RedisProcess server({"appendonly yes", "appendfsync always"});
  OpenedRedis redis(redis_options(server.port()));
  auto calls = redis.calls();
  const StoreVersion before = calls.put("key", "1");
  server.kill_now();
  const auto start = steady_clock::now();
  const auto read = calls.read({"key"});
  REQUIRE_FALSE(read);
  CHECK(read.error().kind() == ErrorKind::Unavailable);
  CHECK_THAT(read.error().message(), Contains(std::to_string(server.port())));
  const auto commit = calls.commit({.epoch = {}, .conditions = {}, .writes = {put("key", "2")}});
  CHECK(commit.outcome == Outcome::Unavailable);
  CHECK(steady_clock::now() - start < 5s);
  server.restart();
  CHECK(redis.get_in_time("key") == "1");
  CHECK_FALSE(redis.epoch() == before.epoch);
  const auto late =
      calls.commit({.epoch = before.epoch, .conditions = {}, .writes = {put("key", "3")}});
  REQUIRE(late.outcome == Outcome::Conflict);
  CHECK(late.failed_key.empty());
  CHECK(calls.put("key", "4").counter > before.counter);
}

TEST_CASE(
    "a server that stands still leaves commits unknown in time, and settles them when it wakes",
    "[STORE-02][STORE-09]") {
  const RedisProcess server;
  OpenedRedis redis(redis_options(server.port()));
  auto calls = redis.calls();
  const StoreVersion before = calls.put("key", "before");
  server.freeze();
  const auto start = steady_clock::now();
  const auto unknown = calls.commit(
      {.epoch = {}, .conditions = {same("key", before)}, .writes = {put("key", "after")}});
  CHECK(unknown.outcome == Outcome::Unknown);
  const auto refused = calls.read({"key"});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message(), Contains("does not answer"));
  CHECK(steady_clock::now() - start < 5s);
  server.thaw();
  const std::string settled = redis.get_in_time("key");
  CHECK((settled == "before" || settled == "after"));
  const StoreVersion version = calls.get("key")->version;
  for (int round = 0; round < 20; ++round) CHECK(calls.get("key")->version == version);
}

TEST_CASE("hints come again after their connection was cut", "[STORE-02]") {
  const RedisProcess server;
  OpenedRedis here(redis_options(server.port()));
  OpenedRedis there(redis_options(server.port()));
  std::mutex mutex;
  std::condition_variable changed;
  std::string hinted;
  here.store().watch("w*/", [&](std::string_view key) {
    const std::lock_guard lock(mutex);
    hinted = key;
    changed.notify_all();
  });
  // Writes until it is hinted: one that came before the subscription is not.
  const auto write_until_hinted = [&](const std::string& key) {
    const auto end = steady_clock::now() + 20s;
    while (steady_clock::now() < end) {
      there.calls().put(key, "x");
      std::unique_lock lock(mutex);
      if (changed.wait_for(lock, 20ms, [&] { return hinted == key; })) return true;
    }
    return false;
  };
  CHECK(write_until_hinted("w*/1"));
  RedisClient(server.port()).call({"CLIENT", "KILL", "TYPE", "pubsub"});
  CHECK(write_until_hinted("w*/2"));
}

TEST_CASE("operations past the bounds are refused, and those within are carried out") {
  const RedisProcess server;
  auto options = redis_options(server.port());
  options.queue_limit = 10;
  options.queue_bytes = 1000;
  options.operation_timeout = 10s;
  OpenedRedis redis(options);
  server.freeze();
  std::vector<std::shared_ptr<Inbox<CommitResult>>> inboxes;
  const auto commit = [&](std::size_t bytes) {
    inboxes.push_back(std::make_shared<Inbox<CommitResult>>());
    redis.store().commit(
        {.epoch = {}, .conditions = {}, .writes = {put("key", std::string(bytes, 'v'))}},
        [inbox = inboxes.back()](CommitResult result) { inbox->put(std::move(result)); });
  };
  for (int i = 0; i < 9; ++i) commit(1);
  commit(2000);
  commit(1);
  commit(1);
  auto calls = redis.calls();
  const CommitResult too_large = calls.await(*inboxes[9]);
  CHECK(too_large.outcome == Outcome::Unavailable);
  CHECK_THAT(too_large.message, Contains("bytes are waiting"));
  const CommitResult too_many = calls.await(*inboxes[11]);
  CHECK(too_many.outcome == Outcome::Unavailable);
  CHECK_THAT(too_many.message, Contains("10 operations are waiting"));
  server.thaw();
  for (std::size_t i = 0; i < inboxes.size(); ++i) {
    if (i != 9 && i != 11) CHECK(calls.await(*inboxes[i]).outcome == Outcome::Ok);
  }
}
