// Which servers are refused, and what becomes of a store whose server is interfered with.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "redis_fixture.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Outcome = spotmesh::location::CommitResult::Outcome;

TEST_CASE("a server that cannot be a store is refused with the reason") {
  SECTION("nobody listens") {
    const Error error = redis_open_error(redis_options(free_port()));
    CHECK(error.kind() == ErrorKind::Unavailable);
    CHECK_THAT(error.message(), Contains("refused"));
  }
  SECTION("it does not answer") {
    const RedisProcess server;
    server.freeze();
    const Error error = redis_open_error(redis_options(server.port()));
    CHECK(error.kind() == ErrorKind::Unavailable);
    CHECK_THAT(error.message(), Contains("does not answer"));
  }
  SECTION("it throws records away") {
    const RedisProcess server({"maxmemory-policy allkeys-lru"});
    const Error error = redis_open_error(redis_options(server.port()));
    CHECK(error.kind() == ErrorKind::InvalidOperation);
    CHECK_THAT(error.message(), Contains("allkeys-lru") && Contains("noeviction"));
  }
  SECTION("it is part of a Redis Cluster") {
    const RedisProcess server({"cluster-enabled yes"});
    const Error error = redis_open_error(redis_options(server.port()));
    CHECK(error.kind() == ErrorKind::InvalidOperation);
    CHECK_THAT(error.message(), Contains("Redis Cluster"));
  }
  SECTION("it is a replica") {
    const RedisProcess server({fmt::format("replicaof 127.0.0.1 {}", free_port())});
    const Error error = redis_open_error(redis_options(server.port()));
    CHECK(error.kind() == ErrorKind::Unavailable);
    CHECK_THAT(error.message(), Contains("replica"));
  }
  SECTION("it holds a store of another format") {
    const RedisProcess server;
    RedisClient(server.port()).call({"HSET", "{game}:spotmesh:store", "format", "2"});
    const Error error = redis_open_error(redis_options(server.port()));
    CHECK(error.kind() == ErrorKind::InvalidOperation);
    CHECK_THAT(error.message(), Contains("format 2"));
  }
  SECTION("another program has one of the keys") {
    const RedisProcess server;
    RedisClient(server.port()).call({"SET", "{game}:spotmesh:store", "mine"});
    const Error error = redis_open_error(redis_options(server.port()));
    CHECK(error.kind() == ErrorKind::Rejected);
    CHECK_THAT(error.message(), Contains("WRONGTYPE"));
  }
}

TEST_CASE("credentials decide who may open the store") {
  const RedisProcess server({"requirepass secret"});
  auto options = redis_options(server.port());
  SECTION("none are given") {
    const Error error = redis_open_error(options);
    CHECK(error.kind() == ErrorKind::Rejected);
    CHECK_THAT(error.message(), Contains("NOAUTH"));
  }
  SECTION("the password is wrong") {
    options.credentials.password = "guess";
    const Error error = redis_open_error(options);
    CHECK(error.kind() == ErrorKind::Rejected);
    CHECK_THAT(error.message(), Contains("refuses the password") && !Contains("guess"));
  }
  SECTION("the user is not known") {
    options.credentials = {"nobody", "secret"};
    const Error error = redis_open_error(options);
    CHECK(error.kind() == ErrorKind::Rejected);
    CHECK_THAT(error.message(), Contains("nobody") && !Contains("secret"));
  }
  SECTION("the password is right") {
    options.credentials.password = "secret";
    OpenedRedis redis(options);
    redis.calls().put("key", "1");
    CHECK(redis.calls().get_text("key") == "1");
    CHECK_THAT(redis.store().describe(), !Contains("secret") && Contains("prefix=game"));
  }
}

namespace {

// As framework/docs/store-redis.md gives it.
const std::string user_rule =
    "user game on >secret resetchannels ~{game}:* &{game}:* "
    "&{game}:spotmesh:hint:0:spotmesh/node/* -@all +auth +select +ping +info "
    "+client|id +client|kill +config|get +script|load +eval +evalsha +hget +hmget +hset +hdel "
    "+hlen +hincrby +hkeys +zadd +zrem +zcard +zrangebylex +unlink +publish +psubscribe";

}  // namespace

TEST_CASE("a user with no more than the permissions that are asked for can do everything") {
  const RedisProcess server({user_rule});
  auto options = redis_options(server.port());
  options.credentials = {"game", "secret"};
  OpenedRedis redis(options);
  auto inbox = std::make_shared<Inbox<std::string>>();
  redis.store().watch("spotmesh/node/",
                      [inbox](std::string_view key) { inbox->put(std::string(key)); });
  redis.calls().put("a", "1");
  redis.calls().put("b", "2");
  redis.calls().commit({.epoch = {}, .conditions = {}, .writes = {erase("a")}});
  CHECK(redis.calls().get_text("b") == "2");
  CHECK(redis.calls().scan("", "", 10)->entries.size() == 1);
  // Of the subscription itself, or of a key.
  redis.calls().await(*inbox);
}

TEST_CASE("a permission that is missing is found when the store is opened, not in a commit") {
  const auto missing = GENERATE(as<std::string>{}, "+zadd ", "+zrem ", "+hdel ", "+hincrby ",
                                "+client|kill ", "+info ", "+zrangebylex ");
  std::string rule = user_rule;
  rule.erase(rule.find(missing), missing.size());
  const RedisProcess server({rule});
  auto options = redis_options(server.port());
  options.credentials = {"game", "secret"};
  CHECK(redis_open_error(options).kind() == ErrorKind::Rejected);
}

TEST_CASE("what a server cannot promise is said once", "[STORE-08]") {
  RedisProcess server;
  const RedisProcess replica({fmt::format("replicaof 127.0.0.1 {}", server.port())});
  RedisClient client(server.port());
  while (client.call({"INFO", "replication"}).find("state=online") == std::string::npos) {
    client.call({"WAIT", "1", "100"});
  }
  SECTION("commits that no replica has") {
    const OpenedRedis redis(redis_options(server.port()));
    CHECK_THAT(redis.warnings(), Contains("min-replicas-to-write 1"));
    CHECK_THAT(redis.warnings(), Contains("appendonly yes"));
  }
  SECTION("a lag that the leases do not allow for") {
    client.call({"CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "60"});
    const OpenedRedis redis(redis_options(server.port()));
    CHECK_THAT(redis.warnings(), Contains("min-replicas-max-lag is 60"));
  }
  SECTION("nothing, when it is set up well") {
    client.call({"CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "10",
                 "appendonly", "yes"});
    const OpenedRedis redis(redis_options(server.port()));
    CHECK(redis.warnings().empty());
  }
}

TEST_CASE("scripts that the server has forgotten are sent again") {
  const RedisProcess server;
  OpenedRedis redis(redis_options(server.port()));
  redis.calls().put("key", "1");
  for (int round = 0; round < 3; ++round) {
    RedisClient(server.port()).call({"SCRIPT", "FLUSH"});
    CHECK(redis.calls().get_text("key") == std::to_string(round + 1));
    redis.calls().put("key", std::to_string(round + 2));
    CHECK(redis.calls().scan("", "", 10)->entries.size() == 1);
  }
}

TEST_CASE("an emptied database shows another epoch", "[STORE-08]") {
  const RedisProcess server;
  OpenedRedis redis(redis_options(server.port()));
  const StoreVersion before = redis.calls().put("key", "1");
  const auto* command = GENERATE("FLUSHALL", "FLUSHDB");
  RedisClient(server.port()).call({command});
  const auto late = redis.calls().commit(
      {.epoch = before.epoch, .conditions = {absent("key")}, .writes = {put("key", "2")}});
  REQUIRE(late.outcome == Outcome::Conflict);
  CHECK(late.failed_key.empty());
  CHECK(redis.calls().get_text("key") == "(absent)");
  CHECK_FALSE(redis.epoch() == before.epoch);
  CHECK_THAT(redis.warnings(), Contains("have been lost"));
}

TEST_CASE("records that have lost their index, or an index its records, show another epoch",
          "[STORE-08]") {
  const RedisProcess server;
  OpenedRedis redis(redis_options(server.port()));
  redis.calls().put("a", "1");
  const StoreVersion before = redis.calls().put("b", "2");
  SECTION("the index is gone") {
    RedisClient(server.port()).call({"DEL", "{game}:spotmesh:index"});
    CHECK(redis.calls().scan("", "", 10)->entries.size() == 2);
    CHECK(redis.calls().get_text("b") == "2");
  }
  SECTION("a record is gone") {
    RedisClient(server.port()).call({"HDEL", "{game}:spotmesh:records", "a"});
    const auto page = redis.calls().scan("", "", 10);
    REQUIRE(page);
    REQUIRE(page->entries.size() == 1);
    CHECK(page->entries[0].key == "b");
  }
  CHECK_FALSE(redis.epoch() == before.epoch);
  CHECK(redis.calls().put("b", "3").counter > before.counter);
}

TEST_CASE("two clusters on one database do not see each other") {
  const RedisProcess server;
  OpenedRedis here(redis_options(server.port()));
  auto options = redis_options(server.port());
  options.prefix = "other";
  OpenedRedis there(options);
  here.calls().put("key", "here");
  there.calls().put("key", "there");
  CHECK(here.calls().get_text("key") == "here");
  CHECK(there.calls().get_text("key") == "there");
  CHECK_FALSE(here.epoch() == there.epoch());
}

TEST_CASE("a full server refuses commits as a whole, and goes on reading and deleting") {
  const RedisProcess server({"maxmemory 5mb"});
  OpenedRedis redis(redis_options(server.port()));
  auto calls = redis.calls();
  const std::string large(200'000, 'v');
  std::vector<Write> kept;
  CommitResult refused;
  for (int i = 0; i < 100; ++i) {
    const std::string key = "key-" + std::to_string(i);
    refused = calls.commit(
        {.epoch = {}, .conditions = {}, .writes = {put(key, large), put(key + "-more", "x")}});
    if (refused.outcome != Outcome::Ok) break;
    kept.push_back(erase(key));
  }
  REQUIRE(refused.outcome == Outcome::Unavailable);
  CHECK_THAT(refused.message, Contains("maxmemory") && Contains(std::to_string(server.port())));
  const std::string next = "key-" + std::to_string(kept.size());
  CHECK(calls.get_text(next) == "(absent)");
  CHECK(calls.get_text(next + "-more") == "(absent)");
  CHECK(calls.get_text("key-0") == large);
  REQUIRE(calls.commit({.epoch = {}, .conditions = {}, .writes = kept}).outcome == Outcome::Ok);
  calls.put(next, large);
}

TEST_CASE("commits wait for as many replicas as the server demands") {
  const RedisProcess server;
  OpenedRedis redis(redis_options(server.port()));
  redis.calls().put("key", "1");
  RedisClient(server.port()).call({"CONFIG", "SET", "min-replicas-to-write", "1"});
  const auto result =
      redis.calls().commit({.epoch = {}, .conditions = {}, .writes = {put("key", "2")}});
  CHECK(result.outcome == Outcome::Unavailable);
  CHECK_THAT(result.message, Contains("NOREPLICAS"));
  CHECK(redis.calls().get_text("key") == "1");
}
