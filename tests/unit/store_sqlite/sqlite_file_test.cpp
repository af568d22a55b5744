#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "store/sqlite/sqlite_store.hpp"
#include "support/scratch_folder.hpp"
#include "support/store_calls.hpp"

using namespace spotmesh;
using namespace spotmesh::location;
using namespace spotmesh::testing;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Outcome = spotmesh::location::CommitResult::Outcome;
namespace fs = std::filesystem;

namespace {

// A plain SQLite connection, as another program has it.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path) {
    REQUIRE(sqlite3_open(path.c_str(), &database_) == SQLITE_OK);
    sqlite3_busy_timeout(database_, 5000);
  }
  ~RawDatabase() { sqlite3_close(database_); }
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;

  void execute(const std::string& sql) {
    INFO(sql << ": " << sqlite3_errmsg(database_));
    REQUIRE(sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }

 private:
  sqlite3* database_ = nullptr;
};

Error open_error(const std::string& path, Duration timeout = 200ms) {
  auto opened = store::SqliteStore::open({.path = path, .operation_timeout = timeout});
  REQUIRE_FALSE(opened);
  CHECK_THAT(opened.error().message(), Contains(path));
  return opened.error();
}

std::unique_ptr<store::SqliteStore> open_store(store::SqliteOptions options) {
  auto opened = store::SqliteStore::open(std::move(options));
  if (!opened) FAIL(to_string(opened.error()));
  return std::move(*opened);
}

StoreEpoch epoch_of(StoreCalls& calls) {
  auto result = calls.read({"any"});
  REQUIRE(result);
  return result->epoch;
}

}  // namespace

TEST_CASE("a store URL is a path behind sqlite:, and what is wrong with another is said") {
  CHECK(store::parse_sqlite_url("sqlite:./cluster.db")->path == "./cluster.db");
  CHECK(store::parse_sqlite_url("sqlite:/var/lib/game/a b.db")->path == "/var/lib/game/a b.db");
  for (const auto* url : {"", "cluster.db", "sqlite", "sqlite:", "sqlite::memory:",
                          "sqlite:folder/", "sqlite:a.db?mode=ro", "redis://host"}) {
    const auto parsed = store::parse_sqlite_url(url);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().kind() == ErrorKind::InvalidOperation);
    CHECK_THAT(parsed.error().message(), Contains(url));
  }
}

TEST_CASE("a file that cannot be a store is refused with the reason") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";

  SECTION("its folder does not exist") {
    const std::string lost = folder.path() / "missing" / "cluster.db";
    CHECK(open_error(lost).kind() == ErrorKind::NotFound);
  }
  SECTION("it is a folder") {
    fs::create_directory(path);
    CHECK(open_error(path).kind() == ErrorKind::NotFound);
  }
  SECTION("it is something else than a database") {
    std::ofstream(path) << std::string(5000, 'x');
    CHECK(open_error(path).kind() == ErrorKind::DataLost);
  }
  SECTION("it belongs to another program") {
    RawDatabase(path).execute("CREATE TABLE players (name TEXT)");
    CHECK(open_error(path).kind() == ErrorKind::InvalidOperation);
    CHECK_THAT(open_error(path).message(), Contains("another program"));
  }
  SECTION("it is of a later version") {
    open_store({.path = path}).reset();
    RawDatabase(path).execute("PRAGMA user_version = 2");
    CHECK(open_error(path).kind() == ErrorKind::InvalidOperation);
    CHECK_THAT(open_error(path).message(), Contains("version 2") && Contains("version 1"));
  }
  SECTION("another process keeps it locked") {
    open_store({.path = path}).reset();
    RawDatabase other(path);
    other.execute("PRAGMA locking_mode = EXCLUSIVE");
    other.execute("BEGIN EXCLUSIVE");
    other.execute("UPDATE meta SET counter = counter");
    CHECK(open_error(path).kind() == ErrorKind::Unavailable);
    CHECK_THAT(open_error(path).message(), Contains("locked"));
  }
}

TEST_CASE("a damaged file is refused at the start and says so") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  {
    auto opened = open_store({.path = path});
    RealWaiter waiter;
    StoreCalls calls(*opened, waiter);
    for (int i = 0; i < 200; ++i) calls.put(fmt::format("key/{}", i), std::string(500, 'v'));
  }
  const auto size = fs::file_size(path);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 2));
    file << std::string(8192, '\x5a');
  }
  CHECK(open_error(path).kind() == ErrorKind::DataLost);
}

TEST_CASE("a file locked by another process makes commits Unavailable in time, and only them",
          "[STORE-09]") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  auto opened = open_store({.path = path, .operation_timeout = 200ms});
  RealWaiter waiter;
  StoreCalls calls(*opened, waiter);
  calls.put("key", "before");
  {
    RawDatabase other(path);
    other.execute("BEGIN IMMEDIATE");
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::shared_ptr<Inbox<CommitResult>>> inboxes;
    for (int i = 0; i < 20; ++i) {
      inboxes.push_back(std::make_shared<Inbox<CommitResult>>());
      opened->commit({.epoch = {}, .conditions = {}, .writes = {put("key", "during")}},
                     [inbox = inboxes.back()](CommitResult result) { inbox->put(result); });
    }
    CHECK(calls.get_text("key") == "before");
    for (auto& inbox : inboxes) {
      const auto result = calls.await(*inbox);
      CHECK(result.outcome == Outcome::Unavailable);
      CHECK_THAT(result.message, Contains("locked"));
    }
    const auto elapsed = std::chrono::steady_clock::now() - start;
    CHECK(elapsed >= 150ms);
    CHECK(elapsed < 5s);
    CHECK(calls.get_text("key") == "before");
  }
  calls.put("key", "after");
  CHECK(calls.get_text("key") == "after");
}

TEST_CASE("a store that is closed while the file is locked answers what waits and ends",
          "[STORE-09]") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  auto opened = open_store({.path = path, .operation_timeout = 100ms});
  RawDatabase other(path);
  other.execute("BEGIN IMMEDIATE");
  auto inbox = std::make_shared<Inbox<CommitResult>>();
  opened->commit({.epoch = {}, .conditions = {}, .writes = {put("key", "x")}},
                 [inbox](CommitResult result) { inbox->put(std::move(result)); });
  opened.reset();
  REQUIRE(inbox->times() == 1);
  CHECK(inbox->take().outcome == Outcome::Unavailable);
}

TEST_CASE("past its bound the queue refuses, and nothing of what it took is lost") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  auto opened = open_store({.path = path, .queue_limit = 4, .operation_timeout = 10s});
  RealWaiter waiter;
  StoreCalls calls(*opened, waiter);
  std::vector<std::shared_ptr<Inbox<CommitResult>>> inboxes;
  {
    RawDatabase other(path);
    other.execute("BEGIN IMMEDIATE");
    for (int i = 0; i < 20; ++i) {
      inboxes.push_back(std::make_shared<Inbox<CommitResult>>());
      opened->commit(
          {.epoch = {}, .conditions = {}, .writes = {put("key/" + std::to_string(i), "x")}},
          [inbox = inboxes.back()](CommitResult result) { inbox->put(std::move(result)); });
    }
    CHECK(calls.await(*inboxes.back()).outcome == Outcome::Unavailable);
  }
  std::size_t applied = 0;
  for (std::size_t i = 0; i + 1 < inboxes.size(); ++i) {
    const auto result = calls.await(*inboxes[i]);
    if (result.outcome == Outcome::Ok) ++applied;
  }
  const auto page = calls.scan("key/", "", 100);
  REQUIRE(page);
  CHECK(page->entries.size() == applied);
  CHECK(applied >= 4);
  // Four in the queue, and what the store had already taken from it into its transaction.
  CHECK(applied <= 8);
}

TEST_CASE("a full disk makes a commit Unavailable, and room makes the next one pass") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  auto opened = open_store({.path = path, .max_file_bytes = 256 * 1024});
  RealWaiter waiter;
  StoreCalls calls(*opened, waiter);
  calls.put("small", "1");
  const StoreVersion before = calls.get("small")->version;
  const auto full = calls.commit({.epoch = {},
                                  .conditions = {},
                                  .writes = {put("small", "2"), put("a", std::string(100'000, 'a')),
                                             put("b", std::string(300'000, 'b'))}});
  CHECK(full.outcome == Outcome::Unavailable);
  CHECK_THAT(full.message, Contains("full"));
  CHECK(calls.get("small")->version == before);
  CHECK(calls.get_text("a") == "(absent)");
  calls.put("a", std::string(50'000, 'a'));
  CHECK(calls.get_text("a").size() == 50'000);
}

TEST_CASE("the epoch stays through restarts and is the same for every process") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  RealWaiter waiter;
  StoreEpoch first;
  StoreVersion version;
  {
    auto opened = open_store({.path = path});
    StoreCalls calls(*opened, waiter);
    version = calls.put("key", "1");
    first = epoch_of(calls);
  }
  auto opened = open_store({.path = path});
  auto second = open_store({.path = path});
  StoreCalls calls(*opened, waiter);
  StoreCalls other(*second, waiter);
  CHECK(epoch_of(calls) == first);
  CHECK(epoch_of(other) == first);
  CHECK(calls.get("key")->version == version);
}

TEST_CASE("a restored file shows a new epoch, also to a process that has the old one open",
          "[STORE-08]") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  const std::string backup = folder.path() / "backup.db";
  auto opened = open_store({.path = path});
  RealWaiter waiter;
  StoreCalls calls(*opened, waiter);
  calls.put("key", "remembered");
  RawDatabase(path).execute("VACUUM INTO '" + backup + "'");
  const StoreVersion forgotten = calls.put("key", "forgotten");
  const StoreEpoch before = epoch_of(calls);

  for (const auto* suffix : {"-wal", "-shm", ""}) fs::remove(path + suffix);
  // Nobody makes an empty store of a file that is only being exchanged.
  CHECK(calls.read({"key"}).error().kind() == ErrorKind::Unavailable);
  CHECK(calls.commit({.epoch = {}, .conditions = {}, .writes = {put("key", "lost")}}).outcome ==
        Outcome::Unavailable);
  CHECK_FALSE(fs::exists(path));

  fs::rename(backup, path);
  CHECK(calls.get_text("key") == "remembered");
  CHECK_FALSE(epoch_of(calls) == before);
  const auto refused = calls.commit({.epoch = {},
                                     .conditions = {same("key", forgotten)},
                                     .writes = {put("key", "from the past")}});
  CHECK(refused.outcome == Outcome::Conflict);
  calls.put("key", "new");
  auto second = open_store({.path = path});
  StoreCalls other(*second, waiter);
  CHECK(other.get_text("key") == "new");
  CHECK(epoch_of(other) == epoch_of(calls));
}

TEST_CASE("a file that is damaged beneath a running process takes no commit once a read has met it",
          "[STORE-02][STORE-09]") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  const std::string backup = folder.path() / "backup.db";
  auto opened = open_store({.path = path, .operation_timeout = 200ms});
  RealWaiter waiter;
  StoreCalls calls(*opened, waiter);
  const std::string value(500, 'v');
  for (int i = 0; i < 200; ++i) calls.put(fmt::format("key/{}", i), value);
  const StoreEpoch before = epoch_of(calls);
  {
    RawDatabase other(path);
    other.execute("VACUUM INTO '" + backup + "'");
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string damage = GENERATE(as<std::string>(), "garbage", "empty", "cut in half");
  INFO(damage);
  if (damage == "garbage") {
    std::fstream(path, std::ios::in | std::ios::out) << std::string(fs::file_size(path), '\x5a');
  } else {
    fs::resize_file(path, damage == "empty" ? 0 : fs::file_size(path) / 2);
  }
  CommitResult refused;
  refused.outcome = Outcome::Ok;
  for (int i = 0; i < 20 && refused.outcome == Outcome::Ok; ++i) {
    refused = calls.commit({.epoch = {}, .conditions = {}, .writes = {put("beat", "on")}});
    // What is told is true.
    for (int key = i; key < 200; key += 20) {
      const auto read = calls.read({fmt::format("key/{}", key)});
      if (read && read->values.front()) CHECK(as_text(read->values.front()->value) == value);
      if (read) CHECK(read->values.front().has_value());
    }
  }
  CHECK(refused.outcome != Outcome::Ok);
  refused = calls.commit({.epoch = {}, .conditions = {}, .writes = {put("beat", "on")}});
  CHECK(refused.outcome == Outcome::Unavailable);
  CHECK_THAT(refused.message, Contains(path));
  CHECK_FALSE(calls.read({"key/0"}).has_value());

  for (const auto* suffix : {"-wal", "-shm", ""}) fs::remove(path + suffix);
  fs::rename(backup, path);
  calls.put("beat", "again");
  CHECK(calls.get_text("key/7") == value);
  CHECK_FALSE(epoch_of(calls) == before);
}

TEST_CASE("commits that are submitted together share transactions and keep their own outcomes",
          "[STORE-03]") {
  ScratchFolder folder;
  auto opened = open_store({.path = folder.path() / "cluster.db", .max_file_bytes = 512 * 1024});
  RealWaiter waiter;
  StoreCalls calls(*opened, waiter);
  calls.put("taken", "x");
  std::vector<std::shared_ptr<Inbox<CommitResult>>> inboxes;
  for (int i = 0; i < 300; ++i) {
    Commit commit;
    if (i % 3 == 1) commit.conditions = {absent("taken")};
    // Every third is too large for what room is left, in the middle of its own writes.
    const std::string value = i % 3 == 2 ? std::string(600'000, 'v') : std::to_string(i);
    commit.writes = {put("n/" + std::to_string(i), "n"), put("v/" + std::to_string(i), value)};
    inboxes.push_back(std::make_shared<Inbox<CommitResult>>());
    opened->commit(std::move(commit), [inbox = inboxes.back()](CommitResult result) {
      inbox->put(std::move(result));
    });
  }
  for (int i = 0; i < 300; ++i) {
    const auto result = calls.await(*inboxes[static_cast<std::size_t>(i)]);
    const auto expected = i % 3 == 0   ? Outcome::Ok
                          : i % 3 == 1 ? Outcome::Conflict
                                       : Outcome::Unavailable;
    INFO(i << ": " << result.message);
    CHECK(result.outcome == expected);
    CHECK((calls.get_text("n/" + std::to_string(i)) == "n") == (i % 3 == 0));
    CHECK((calls.get_text("v/" + std::to_string(i)) != "(absent)") == (i % 3 == 0));
  }
}

TEST_CASE("rows that no store writes are never loaded, and harm no other", "[STORE-02]") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  auto opened = open_store({.path = path});
  RealWaiter waiter;
  StoreCalls calls(*opened, waiter);
  calls.put("a", "sound");
  calls.put("z", "sound");
  RawDatabase other(path);
  other.execute(fmt::format("INSERT INTO entries VALUES (x'62', zeroblob({}), 7)",
                            max_store_value_bytes + 1));
  other.execute("INSERT INTO entries VALUES (zeroblob(100000000), x'00', 7)");
  other.execute("INSERT INTO entries VALUES ('text', 'text', 'text')");

  CHECK(calls.get_text("b").empty());
  const auto page = calls.scan("", "", 10);
  REQUIRE(page);
  std::vector<std::string> keys;
  for (const auto& entry : page->entries) keys.push_back(entry.key);
  CHECK(keys == std::vector<std::string>{"a", "b", "z"});
  calls.put("b", "mended");
  CHECK(calls.get_text("b") == "mended");
}

namespace {

// Its first commit comes to nothing, and the outcome is unknown.
class FirstCommitLost : public runtime::Faults {
 public:
  bool strikes(std::string_view point) override {
    return point == "sqlite.commit-lost" && !std::exchange(has_struck_, true);
  }

 private:
  bool has_struck_ = false;
};

constexpr auto exhaust_counter = "UPDATE meta SET counter = 9223372036854775807";

}  // namespace

TEST_CASE("a counter without a next number makes commits Unavailable, whatever is unsettled") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  FirstCommitLost faults;
  auto opened = open_store({.path = path, .faults = &faults});
  RealWaiter waiter;
  StoreCalls calls(*opened, waiter);
  RawDatabase(path).execute(exhaust_counter);
  const auto attempt = [&] {
    return calls.commit({.epoch = {}, .conditions = {}, .writes = {put("a", "1")}}).outcome;
  };
  CHECK(attempt() == Outcome::Unknown);
  CHECK(attempt() == Outcome::Unavailable);
  RawDatabase(path).execute("UPDATE meta SET counter = 7");
  CHECK(attempt() == Outcome::Ok);
}

TEST_CASE("an outcome that cannot be settled at once is settled later, without any commit",
          "[STORE-02]") {
  ScratchFolder folder;
  const std::string path = folder.path() / "cluster.db";
  FirstCommitLost faults;
  auto opened = open_store({.path = path, .faults = &faults});
  RealWaiter waiter;
  StoreCalls calls(*opened, waiter);
  RawDatabase(path).execute(exhaust_counter);
  REQUIRE(calls.commit({.epoch = {}, .conditions = {}, .writes = {put("a", "1")}}).outcome ==
          Outcome::Unknown);
  const auto refused = calls.read({"a"});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message(), Contains("not settled"));

  RawDatabase(path).execute("UPDATE meta SET counter = 7");
  const auto end = std::chrono::steady_clock::now() + 10s;
  auto answered = calls.read({"a"});
  while (!answered && std::chrono::steady_clock::now() < end) answered = calls.read({"a"});
  REQUIRE(answered);
  CHECK_FALSE(answered->values.at(0));
}

TEST_CASE("whoever is refused is not held up, and is answered all the same") {
  ScratchFolder folder;
  constexpr std::size_t limit = 4;
  auto opened = open_store({.path = folder.path() / "cluster.db", .queue_limit = limit});
  std::promise<void> is_held;
  std::promise<void> go_on;
  opened->read({"a"}, [&](const auto&) {
    is_held.set_value();
    go_on.get_future().wait();
  });
  is_held.get_future().wait();

  // The thread that answers stands still meanwhile.
  std::atomic<std::size_t> refused{0};
  for (std::size_t i = 0; i < 10 * limit; ++i) {
    opened->read({}, [&](const auto& result) { refused += result ? 0 : 1; });
  }
  std::atomic<std::size_t> answered{0};
  for (std::size_t i = 0; i < 10 * limit; ++i) {
    opened->read({"a"}, [&](const auto& result) { ++(result ? answered : refused); });
  }
  CHECK(refused == 0);
  go_on.set_value();
  opened.reset();
  CHECK(answered == limit);
  CHECK(refused == 20 * limit - limit);
}
