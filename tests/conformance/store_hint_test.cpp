#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "store_providers.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;

TEMPLATE_TEST_CASE("a change by another handle is hinted to whoever watches its prefix",
                   "[STORE-02]", SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls here = provider.connect();
  StoreCalls there = provider.connect();
  auto inbox = std::make_shared<Inbox<std::string>>();
  here.store().watch("watched/", [inbox](std::string_view key) { inbox->put(std::string(key)); });
  // The first reading is what later changes are told from.
  here.get("watched/a");
  there.put("watched/a", "1");
  const std::string hinted = here.await(*inbox);
  CHECK(hinted.starts_with("watched/"));
}

TEMPLATE_TEST_CASE("with every hint lost the outcomes are the same", "[STORE-02]",
                   HintlessSimProvider) {
  TestType provider;
  StoreCalls here = provider.connect();
  StoreCalls there = provider.connect();
  int hints = 0;
  here.store().watch("", [&hints](std::string_view) { ++hints; });
  const StoreVersion first = there.put("key", "1");
  CHECK(here.get("key")->version == first);
  const auto second =
      here.commit({.epoch = {}, .conditions = {same("key", first)}, .writes = {put("key", "2")}});
  CHECK(second.outcome == CommitResult::Outcome::Ok);
  const auto late =
      there.commit({.epoch = {}, .conditions = {same("key", first)}, .writes = {put("key", "3")}});
  CHECK(late.outcome == CommitResult::Outcome::Conflict);
  CHECK(there.get_text("key") == "2");
  CHECK(hints == 0);
}
