// A process that shares a store file with a test.
//
//   store_process count FILE KEY TIMES   adds one to a decimal number, TIMES times, against rivals
//   store_process pairs FILE             writes the same number to many keys at once, for ever, and
//                                        prints each number once it has been acknowledged
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "store/sqlite/sqlite_store.hpp"

namespace {

using namespace spotmesh;
using Outcome = location::CommitResult::Outcome;

Result<location::ReadResult> read(location::LocationStore& store, const std::string& key) {
  std::promise<Result<location::ReadResult>> promise;
  store.read({key},
             [&](Result<location::ReadResult> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

location::CommitResult commit(location::LocationStore& store, location::Commit commit) {
  std::promise<location::CommitResult> promise;
  store.commit(std::move(commit),
               [&](location::CommitResult result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

bool add_one(location::LocationStore& store, const std::string& key) {
  while (true) {
    const auto seen = read(store, key);
    if (!seen) continue;
    const auto& stored = seen->values.at(0);
    const int number = stored ? std::atoi(std::string(as_text(stored->value)).c_str()) : 0;
    location::Commit next;
    next.conditions = {{key, stored ? std::optional(stored->version) : std::nullopt}};
    next.writes = {{key, to_bytes(std::to_string(number + 1))}};
    const auto result = commit(store, std::move(next));
    if (result.outcome == Outcome::Ok) return true;
    if (result.outcome == Outcome::Unknown) return false;
  }
}

int count(location::LocationStore& store, const std::string& key, int times) {
  for (int i = 0; i < times; ++i) {
    if (!add_one(store, key)) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

int pairs(location::LocationStore& store) {
  for (int number = 1;; ++number) {
    location::Commit next;
    for (int i = 0; i < 20; ++i) {
      next.writes.push_back({fmt::format("pair/{:02}", i),
                             to_bytes(fmt::format("{}/{}", number, std::string(3000, 'x')))});
    }
    if (commit(store, std::move(next)).outcome == Outcome::Ok) std::cout << number << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  auto store = store::SqliteStore::open({.path = argv[2]});
  if (!store) {
    std::cerr << to_string(store.error()) << '\n';
    return EXIT_FAILURE;
  }
  const std::string_view mode = argv[1];
  if (mode == "count" && argc == 5) return count(**store, argv[3], std::atoi(argv[4]));
  if (mode == "pairs" && argc == 3) return pairs(**store);
  return 2;
}
