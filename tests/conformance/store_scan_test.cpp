#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "store_providers.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;

TEMPLATE_TEST_CASE("a paged scan goes through a prefix in key order and nothing else", "[STORE-02]",
                   SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  using namespace std::string_literals;
  const std::vector<std::string> inside = {"p/"s, "p/\0"s,  "p/a",       "p/aa",
                                           "p/b", "p/\xff", "p/\xff\xff"};
  for (const auto& key : inside) calls.put(key, "v" + key);
  for (const auto& key : {"o", "p", "p0", "q", "P/a"}) calls.put(key, "outside");
  for (const std::size_t limit : {1, 2, 3, 6, 7, 8, 1000}) {
    std::vector<std::string> seen;
    std::string cursor;
    do {
      const auto page = calls.scan("p/", cursor, limit);
      REQUIRE(page);
      CHECK(page->entries.size() <= limit);
      for (const auto& entry : page->entries) {
        seen.push_back(entry.key);
        CHECK(as_text(entry.stored.value) == "v" + entry.key);
        CHECK(entry.stored.version == calls.get(entry.key)->version);
      }
      cursor = page->next;
    } while (!cursor.empty());
    CHECK(seen == inside);
  }
  const auto everything = calls.scan("", "", 1000);
  REQUIRE(everything);
  CHECK(everything->entries.size() == inside.size() + 5);
}

TEMPLATE_TEST_CASE("a scan sees every key that is present throughout, whatever else is written",
                   "[STORE-02]", SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls reader = provider.connect();
  StoreCalls writer = provider.connect();
  std::set<std::string> steady;
  for (int i = 0; i < 60; ++i) {
    const std::string key = fmt::format("k/{:03}", i * 10);
    reader.put(key, "steady");
    steady.insert(key);
  }
  TestRandom random(7);
  for (int round = 0; round < 5; ++round) {
    std::set<std::string> seen;
    std::string cursor;
    do {
      // Between two pages keys come and go on both sides of the cursor, the cursor's own included.
      for (int i = 0; i < 5; ++i) {
        const std::string key = fmt::format("k/{:03}x", random_below(random, 600));
        writer.put(key, "passing");
        if (random_below(random, 2) == 0) {
          writer.commit({.epoch = {}, .conditions = {}, .writes = {erase(key)}});
        }
        writer.put(fmt::format("k/{:03}", random_below(random, 60) * 10), "rewritten");
      }
      if (cursor.ends_with('x')) {
        writer.commit({.epoch = {}, .conditions = {}, .writes = {erase(cursor)}});
      }
      const auto page = reader.scan("k/", cursor, 7);
      REQUIRE(page);
      for (const auto& entry : page->entries) seen.insert(entry.key);
      cursor = page->next;
    } while (!cursor.empty());
    CHECK(std::includes(seen.begin(), seen.end(), steady.begin(), steady.end()));
  }
}

TEMPLATE_TEST_CASE("a page of large values ends early, and the scan goes on behind it",
                   "[STORE-02]", SqliteProvider, RedisProvider, SimProvider) {
  TestType provider;
  StoreCalls calls = provider.connect();
  const std::string large(max_store_value_bytes, 'v');
  const std::vector<std::string> keys = {"k/1", "k/2", "k/3"};
  for (const auto& key : keys) calls.put(key, large);
  const auto first = calls.scan("k/", "", 1000);
  REQUIRE(first);
  REQUIRE(first->entries.size() == max_scan_page_bytes / max_store_value_bytes);
  CHECK(first->next == "k/2");
  const auto second = calls.scan("k/", first->next, 1000);
  REQUIRE(second);
  REQUIRE(second->entries.size() == 1);
  CHECK(second->entries[0].key == "k/3");
  CHECK(second->next.empty());
}
