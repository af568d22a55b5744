#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/scratch_folder.hpp"
#include "support/store_calls.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using Outcome = spotmesh::location::CommitResult::Outcome;

namespace {

std::unique_ptr<store::SqliteStore> open_store(const std::string& path) {
  auto opened = store::SqliteStore::open({.path = path});
  REQUIRE(opened);
  return std::move(*opened);
}

// Adds one to a decimal number against rivals, on any thread; false when the store was not to be
// had.
bool add_one(StoreCalls& calls, const std::string& key) {
  while (true) {
    const auto seen = calls.read({key});
    if (!seen) return false;
    const auto& stored = seen->values.at(0);
    const int number = stored ? std::stoi(std::string(as_text(stored->value))) : 0;
    const auto result =
        calls.commit({.epoch = {},
                      .conditions = {{key, stored ? std::optional(stored->version) : std::nullopt}},
                      .writes = {put(key, std::to_string(number + 1))}});
    if (result.outcome == Outcome::Ok) return true;
    if (result.outcome != Outcome::Conflict) return false;
  }
}

}  // namespace

TEST_CASE("rivals on many threads and two handles lose no update", "[STORE-03]") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  auto first = open_store(path);
  auto second = open_store(path);
  constexpr int threads = 4;
  constexpr int rounds = 50;
  std::vector<std::thread> running;
  std::atomic<int> added = 0;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      RealWaiter waiter;
      StoreCalls calls(i % 2 == 0 ? *first : *second, waiter);
      for (int round = 0; round < rounds; ++round) added += add_one(calls, "number") ? 1 : 0;
    });
  }
  for (auto& thread : running) thread.join();
  RealWaiter waiter;
  StoreCalls calls(*first, waiter);
  CHECK(added == threads * rounds);
  CHECK(calls.get_text("number") == std::to_string(threads * rounds));
}

TEST_CASE("two processes that compete for one key on one file lose no update",
          "[STORE-02][STORE-03]") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  auto here = open_store(path);
  ChildProcess first({STORE_PROCESS, "count", path, "number", "100"});
  ChildProcess second({STORE_PROCESS, "count", path, "number", "100"});
  RealWaiter waiter;
  StoreCalls calls(*here, waiter);
  for (int i = 0; i < 100; ++i) REQUIRE(add_one(calls, "number"));
  CHECK(first.wait_for_exit() == 0);
  CHECK(second.wait_for_exit() == 0);
  CHECK(calls.get_text("number") == "300");
}

TEST_CASE("two processes that create one file at once agree on it", "[STORE-02]") {
  for (int round = 0; round < 5; ++round) {
    ScratchFolder folder;
    const std::string path = folder.path() / "cluster.db";
    ChildProcess first({STORE_PROCESS, "count", path, "number", "5"});
    ChildProcess second({STORE_PROCESS, "count", path, "number", "5"});
    CHECK(first.wait_for_exit() == 0);
    CHECK(second.wait_for_exit() == 0);
    auto here = open_store(path);
    RealWaiter waiter;
    StoreCalls calls(*here, waiter);
    CHECK(calls.get_text("number") == "10");
  }
}

TEST_CASE("a process killed in the middle of its commits leaves nothing half written",
          "[STORE-03][CREATE-14]") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  auto here = open_store(path);
  RealWaiter waiter;
  StoreCalls calls(*here, waiter);
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) keys.push_back((i < 10 ? "pair/0" : "pair/") + std::to_string(i));
  for (int round = 0; round < 8; ++round) {
    ChildProcess writer({STORE_PROCESS, "pairs", path});
    std::string acknowledged = writer.read_line();
    for (int line = 0; line < round * 3; ++line) acknowledged = writer.read_line();
    writer.kill_now();
    for (auto& line : writer.read_rest()) acknowledged = line;

    const auto read = calls.read(keys);
    REQUIRE(read);
    REQUIRE(read->values[0].has_value());
    const auto& first = *read->values[0];
    const int number = std::stoi(std::string(as_text(first.value)));
    // What was acknowledged is there; one more may have been under way.
    CHECK(number >= std::stoi(acknowledged));
    CHECK(number <= std::stoi(acknowledged) + 1);
    for (const auto& value : read->values) {
      REQUIRE(value.has_value());
      CHECK(value->value == first.value);
      CHECK(value->version == first.version);
    }
    calls.put("still-writable", std::to_string(round));
  }
}
