#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "store_providers.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using Outcome = spotmesh::location::CommitResult::Outcome;

namespace {

std::vector<std::string> numbered_keys(std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back("key-" + std::to_string(i));
  return keys;
}

std::vector<Write> numbered_writes(std::size_t count) {
  std::vector<Write> writes;
  for (auto& key : numbered_keys(count)) writes.push_back(put(key, "x"));
  return writes;
}

std::vector<Condition> numbered_conditions(std::size_t count) {
  std::vector<Condition> conditions;
  for (auto& key : numbered_keys(count)) conditions.push_back(absent(key));
  return conditions;
}

}  // namespace

TEMPLATE_TEST_CASE("a malformed operation is refused and changes nothing", "[STORE-02]",
                   SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  const std::string too_long(max_store_key_bytes + 1, 'k');
  const std::string too_large(max_store_value_bytes + 1, 'v');

  const std::vector<std::vector<std::string>> bad_reads = {
      {}, {""}, {too_long}, {"a", "b", "a"}, numbered_keys(max_keys_per_operation + 1)};
  for (const auto& keys : bad_reads) {
    const auto result = calls.read(keys);
    REQUIRE_FALSE(result);
    CHECK(result.error().kind() == ErrorKind::InvalidOperation);
    CHECK_FALSE(result.error().message().empty());
  }

  const std::vector<Commit> bad_commits = {
      {.epoch = {}, .conditions = {absent("x")}, .writes = {}},
      {.epoch = {}, .conditions = {}, .writes = {put("", "1")}},
      {.epoch = {}, .conditions = {absent("")}, .writes = {put("a", "1")}},
      {.epoch = {}, .conditions = {}, .writes = {put("a", "1"), put(too_long, "1")}},
      {.epoch = {}, .conditions = {}, .writes = {put("a", "1"), put("b", too_large)}},
      {.epoch = {}, .conditions = {}, .writes = {put("a", "1"), erase("a")}},
      {.epoch = {}, .conditions = {absent("x"), absent("x")}, .writes = {put("a", "1")}},
      {.epoch = {}, .conditions = {}, .writes = numbered_writes(max_keys_per_operation + 1)},
      {.epoch = {},
       .conditions = numbered_conditions(max_keys_per_operation + 1),
       .writes = {put("a", "1")}},
  };
  for (const auto& commit : bad_commits) {
    const auto result = calls.commit(commit);
    CHECK(result.outcome == Outcome::Malformed);
    CHECK_FALSE(result.message.empty());
  }

  CHECK(calls.scan("", "", 0).error().kind() == ErrorKind::InvalidOperation);
  CHECK(calls.scan("", "", max_scan_page + 1).error().kind() == ErrorKind::InvalidOperation);
  CHECK(calls.scan(too_long, "", 1).error().kind() == ErrorKind::InvalidOperation);

  const auto left = calls.scan("", "", 10);
  REQUIRE(left);
  CHECK(left->entries.empty());
}

TEMPLATE_TEST_CASE("operations at their bounds are carried out", "[STORE-02]", SqliteProvider,
                   RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  const auto result = calls.commit({.epoch = {},
                                    .conditions = numbered_conditions(max_keys_per_operation),
                                    .writes = numbered_writes(max_keys_per_operation)});
  REQUIRE(result.outcome == Outcome::Ok);
  CHECK(result.versions.size() == max_keys_per_operation);
  const auto read = calls.read(numbered_keys(max_keys_per_operation));
  REQUIRE(read);
  for (const auto& value : read->values) CHECK(value.has_value());
  const auto page = calls.scan("key-", "", max_scan_page);
  REQUIRE(page);
  CHECK(page->entries.size() == max_keys_per_operation);
}

TEMPLATE_TEST_CASE("a callback comes once and never inside the call", "[STORE-02]", SqliteProvider,
                   RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  std::vector<std::shared_ptr<Inbox<int>>> inboxes;
  const auto caller = std::this_thread::get_id();
  bool is_inside_call = false;
  const auto expect_answer = [&] {
    auto inbox = std::make_shared<Inbox<int>>();
    inboxes.push_back(inbox);
    return [inbox, caller, &is_inside_call](const auto&) {
      const bool was_inside = std::this_thread::get_id() == caller && is_inside_call;
      inbox->put(was_inside ? 1 : 0);
    };
  };
  is_inside_call = true;
  for (int i = 0; i < 50; ++i) {
    calls.store().read({"a"}, expect_answer());
    calls.store().read({}, expect_answer());
    calls.store().commit({.epoch = {}, .conditions = {}, .writes = {put("a", "1")}},
                         expect_answer());
    calls.store().commit({.epoch = {}, .conditions = {}, .writes = {}}, expect_answer());
    calls.store().scan("", "", 10, expect_answer());
    calls.store().scan("", "", 0, expect_answer());
  }
  is_inside_call = false;
  for (auto& inbox : inboxes) CHECK(calls.await(*inbox) == 0);
  provider.disconnect_all();
  for (auto& inbox : inboxes) CHECK(inbox->times() == 1);
}

TEMPLATE_TEST_CASE("closing a handle answers everything that is under way, once", "[STORE-02]",
                   SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  std::vector<std::shared_ptr<Inbox<int>>> inboxes;
  const auto expect_answer = [&] {
    inboxes.push_back(std::make_shared<Inbox<int>>());
    return [inbox = inboxes.back()](const auto&) { inbox->put(0); };
  };
  for (int i = 0; i < 200; ++i) {
    calls.store().commit({.epoch = {}, .conditions = {}, .writes = {put("a", "1")}},
                         expect_answer());
    calls.store().read({"a"}, expect_answer());
    calls.store().scan("", "", 1, expect_answer());
  }
  provider.disconnect_all();
  for (auto& inbox : inboxes) CHECK(inbox->times() == 1);
}
