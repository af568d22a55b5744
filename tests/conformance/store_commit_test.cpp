#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "store_providers.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using Outcome = spotmesh::location::CommitResult::Outcome;

TEMPLATE_TEST_CASE("a commit over several keys writes all of them", "[STORE-02][STORE-03]",
                   SqliteProvider, RedisProvider, SimProvider, HintlessSimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  const CommitResult result = calls.commit({.epoch = {},
                                            .conditions = {absent("a"), absent("b")},
                                            .writes = {put("a", "1"), put("b", "2")}});
  REQUIRE(result.outcome == Outcome::Ok);
  REQUIRE(result.versions.size() == 2);
  const auto read = calls.read({"b", "absent", "a"});
  REQUIRE(read);
  REQUIRE(read->values.size() == 3);
  REQUIRE(read->values[0].has_value());
  CHECK(as_text(read->values[0]->value) == "2");
  CHECK(read->values[0]->version == result.versions[1]);
  CHECK_FALSE(read->values[1].has_value());
  REQUIRE(read->values[2].has_value());
  CHECK(as_text(read->values[2]->value) == "1");
  CHECK(read->values[2]->version == result.versions[0]);
  CHECK(read->epoch == result.epoch);
  CHECK(read->values[2]->version.epoch == result.epoch);
}

TEMPLATE_TEST_CASE("one false condition among true ones leaves every key as it was",
                   "[STORE-02][STORE-03][STORE-06]", SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  const StoreVersion lease = calls.put("lease", "live");
  const StoreVersion other = calls.put("other", "x");
  const StoreVersion fenced = calls.put("lease", "fenced");
  std::vector<Condition> conditions = {same("other", other), absent("new")};
  const std::vector<Write> writes = {put("other", "y"), put("new", "z"), erase("lease")};

  SECTION("a version that has gone by") {
    conditions.push_back(same("lease", lease));
    const auto result = calls.commit({.epoch = {}, .conditions = conditions, .writes = writes});
    REQUIRE(result.outcome == Outcome::Conflict);
    CHECK(result.failed_key == "lease");
  }
  SECTION("a key that must be absent and is not") {
    conditions.push_back(absent("lease"));
    const auto result = calls.commit({.epoch = {}, .conditions = conditions, .writes = writes});
    REQUIRE(result.outcome == Outcome::Conflict);
    CHECK(result.failed_key == "lease");
  }
  SECTION("a key that must have a version and is absent") {
    conditions.push_back(same("nothing", fenced));
    const auto result = calls.commit({.epoch = {}, .conditions = conditions, .writes = writes});
    REQUIRE(result.outcome == Outcome::Conflict);
    CHECK(result.failed_key == "nothing");
  }
  SECTION("the right counter of another epoch") {
    StoreVersion foreign = fenced;
    foreign.epoch.low ^= 1;
    conditions.push_back(same("lease", foreign));
    const auto result = calls.commit({.epoch = {}, .conditions = conditions, .writes = writes});
    REQUIRE(result.outcome == Outcome::Conflict);
    CHECK(result.failed_key == "lease");
  }
  CHECK(calls.get_text("other") == "x");
  CHECK(calls.get_text("new") == "(absent)");
  CHECK(calls.get_text("lease") == "fenced");
  CHECK(calls.get("other")->version == other);
}

TEMPLATE_TEST_CASE("a commit prepared in another epoch is refused", "[STORE-02]", SqliteProvider,
                   RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  const StoreVersion first = calls.put("key", "1");
  StoreEpoch other = first.epoch;
  other.high ^= 1;
  const auto refused =
      calls.commit({.epoch = other, .conditions = {}, .writes = {put("key", "2")}});
  REQUIRE(refused.outcome == Outcome::Conflict);
  CHECK(refused.failed_key.empty());
  CHECK(refused.epoch == first.epoch);
  const auto accepted = calls.commit(
      {.epoch = first.epoch, .conditions = {same("key", first)}, .writes = {put("key", "3")}});
  CHECK(accepted.outcome == Outcome::Ok);
  CHECK(calls.get_text("key") == "3");
}

TEMPLATE_TEST_CASE("versions of a key only grow, through deletion and return",
                   "[STORE-02][STORE-03]", SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  std::uint64_t last = 0;
  for (int round = 0; round < 20; ++round) {
    const StoreVersion written = calls.put("key", std::to_string(round));
    CHECK(written.counter > last);
    CHECK(calls.get("key")->version == written);
    const auto removed =
        calls.commit({.epoch = {}, .conditions = {same("key", written)}, .writes = {erase("key")}});
    REQUIRE(removed.outcome == Outcome::Ok);
    CHECK(removed.versions.at(0).counter > written.counter);
    CHECK_FALSE(calls.get("key").has_value());
    last = removed.versions.at(0).counter;
  }
}

TEMPLATE_TEST_CASE("deleting an absent key is fine", "[STORE-02]", SqliteProvider, RedisProvider,
                   SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  const auto result =
      calls.commit({.epoch = {}, .conditions = {absent("x")}, .writes = {erase("x")}});
  CHECK(result.outcome == Outcome::Ok);
  CHECK_FALSE(calls.get("x").has_value());
}

TEMPLATE_TEST_CASE("keys and values are any bytes, empty values and large ones included",
                   "[STORE-02]", SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  using namespace std::string_literals;
  const std::string odd = "k/\0\xff'\"%\n\xf0\x9f\x8e\xb2"s;
  const std::string longest(max_store_key_bytes, 'k');
  const std::string large(max_store_value_bytes, '\x07');
  calls.put(odd, "a\0b"s);
  calls.put(longest, large);
  calls.put("empty", "");
  CHECK(calls.get_text(odd) == "a\0b"s);
  CHECK(calls.get_text(longest) == large);
  REQUIRE(calls.get("empty").has_value());
  CHECK(calls.get("empty")->value.empty());
  CHECK(calls.get_text("k/") == "(absent)");
}

TEMPLATE_TEST_CASE("of rivals that saw the same version one wins, whichever handle it has",
                   "[STORE-02][STORE-03]", SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  std::vector<StoreCalls> handles = {provider.connect(), provider.connect(), provider.connect()};
  const StoreVersion seen = handles[0].put("prize", "free");
  std::vector<std::shared_ptr<Inbox<CommitResult>>> inboxes;
  for (std::size_t i = 0; i < 30; ++i) {
    auto inbox = std::make_shared<Inbox<CommitResult>>();
    handles[i % handles.size()].store().commit(
        {.epoch = {},
         .conditions = {same("prize", seen)},
         .writes = {put("prize", std::to_string(i)), put("won-by-" + std::to_string(i), "")}},
        [inbox](CommitResult result) { inbox->put(std::move(result)); });
    inboxes.push_back(std::move(inbox));
  }
  std::vector<std::size_t> winners;
  for (std::size_t i = 0; i < inboxes.size(); ++i) {
    const CommitResult result = handles[i % handles.size()].await(*inboxes[i]);
    if (result.outcome == Outcome::Ok) {
      winners.push_back(i);
    } else {
      CHECK(result.outcome == Outcome::Conflict);
      CHECK(result.failed_key == "prize");
    }
  }
  REQUIRE(winners.size() == 1);
  CHECK(handles[1].get_text("prize") == std::to_string(winners[0]));
  const auto traces = handles[2].scan("won-by-", "", 100);
  REQUIRE(traces);
  REQUIRE(traces->entries.size() == 1);
  CHECK(traces->entries[0].key == "won-by-" + std::to_string(winners[0]));
}

TEMPLATE_TEST_CASE("a write of one handle is read by the others", "[STORE-02]", SqliteProvider,
                   RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls here = provider.connect();
  StoreCalls there = provider.connect();
  for (int round = 0; round < 10; ++round) {
    const StoreVersion version = here.put("key", std::to_string(round));
    CHECK(there.get_text("key") == std::to_string(round));
    CHECK(there.get("key")->version == version);
  }
}
