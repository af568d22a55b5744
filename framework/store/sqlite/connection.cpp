#include "store/sqlite/connection.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::store {
namespace {

constexpr std::int64_t application_id = 0x53504d53;  // "SPMS"
constexpr std::int64_t schema_version = 1;

// Spreads one more number over both halves of an epoch.
void mix(location::StoreEpoch& epoch, std::uint64_t value) {
  const auto stir = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  };
  epoch.high = stir(epoch.high + value + 0x9e3779b97f4a7c15ULL);
  epoch.low = stir((epoch.low ^ value) + epoch.high);
}

void mix(location::StoreEpoch& epoch, ByteView bytes) {
  for (const std::byte byte : bytes) mix(epoch, static_cast<std::uint64_t>(byte));
}

// New at each start of the machine.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// SQL for a row's value, or for nothing where it is of impossible size.
std::string bounded_value() {
  return fmt::format("iif(length(value) <= {}, value, x'')", location::max_store_value_bytes);
}

std::string scan_beginning_at(std::string_view comparison) {
  return fmt::format(
      "SELECT key, {}, version FROM entries WHERE key {} ?1 AND length(key) <= {} "
      "ORDER BY key LIMIT ?2",
      bounded_value(), comparison, location::max_store_key_bytes);
}

int first_code(int code) { return code & 0xff; }

bool is_lock_trouble(int code) {
  return first_code(code) == SQLITE_BUSY || first_code(code) == SQLITE_LOCKED ||
         first_code(code) == SQLITE_PROTOCOL;
}

}  // namespace

// Whoever can write the file can put anything into it. A key that no store writes is passed over; a
// value of impossible size is never loaded and shows as empty, which is no record either.
Connection::Statements::Statements(sqlite3* database)
    : find(database,
           fmt::format("SELECT {}, version FROM entries WHERE key = ?1", bounded_value())),
      version(database, "SELECT version FROM entries WHERE key = ?1"),
      put(database,
          "INSERT INTO entries (key, value, version) VALUES (?1, ?2, ?3) "
          "ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version"),
      remove(database, "DELETE FROM entries WHERE key = ?1"),
      scan_from(database, scan_beginning_at(">=")),
      scan_after(database, scan_beginning_at(">")),
      counter(database, "SELECT counter FROM meta"),
      set_counter(database, "UPDATE meta SET counter = ?1") {}

Result<std::unique_ptr<Connection>> Connection::open(const Settings& settings,
                                                     SteadyTime deadline) {
  while (true) {
    std::unique_ptr<Connection> connection(new Connection(settings.path));
    connection->set_deadline(deadline);
    auto opened = connection->open_file(settings.may_create);
    if (opened) opened = connection->prepare_file(settings);
    if (!opened) return fail(opened.error());
    // A file that was replaced between opening and looking at it would get another's identity.
    if (connection->is_current()) return connection;
    if (std::chrono::steady_clock::now() >= deadline) {
      return fail(Error::unavailable(
          fmt::format("the store file \"{}\" is being replaced again and again", settings.path)));
    }
  }
}

Connection::~Connection() {
  statements_.reset();
  data_version_.reset();
  sqlite3_close(database_);
}

Result<void> Connection::open_file(bool may_create) {
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (may_create ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path_.c_str(), &database_, flags, nullptr);
  if (code != SQLITE_OK) return fail(error_of(code, "open"));
  sqlite3_extended_result_codes(database_, 1);
  sqlite3_randomness(sizeof jitter_, &jitter_);
  sqlite3_busy_handler(database_, &Connection::on_busy, this);
  return {};
}

Result<void> Connection::prepare_file(const Settings& settings) {
  if (sqlite3_db_readonly(database_, "main") == 1) {
    return fail(Error::rejected(
        fmt::format("the store file \"{}\" cannot be written by this process", path_)));
  }
  auto exists = is_store_file();
  if (!exists) return fail(exists.error());
  // As with one that is missing: whoever had it open knows better than to begin anew.
  if (!*exists && !settings.may_create) {
    return fail(Error::data_lost(fmt::format("the store file \"{}\" has been emptied", path_)));
  }
  // Turning a file to WAL does not ask the busy handler; the first two processes may collide.
  int code = execute("PRAGMA journal_mode = WAL");
  for (int times = 0; is_lock_trouble(code) && on_busy(this, times) == 1; ++times) {
    code = execute("PRAGMA journal_mode = WAL");
  }
  if (code == SQLITE_OK) code = execute("PRAGMA synchronous = NORMAL");
  if (code != SQLITE_OK) return fail(error_of(code, "prepare"));
  if (!*exists) {
    if (auto created = create_tables(); !created) return created;
  }
  if (auto sound = check_pages(); !sound) return sound;
  if (settings.max_file_bytes != 0) {
    Statement page_size(database_, "PRAGMA page_size");
    if (const int result = page_size.step(); result != SQLITE_ROW) {
      return fail(error_of(result, "measure"));
    }
    const auto pages = settings.max_file_bytes / static_cast<std::uint64_t>(page_size.number(0));
    execute(fmt::format("PRAGMA max_page_count = {}", std::max<std::uint64_t>(pages, 1)).c_str());
  }
  statements_ = std::make_unique<Statements>(database_);
  data_version_ = std::make_unique<Statement>(database_, "PRAGMA data_version");
  return read_identity();
}

// Whether the tables are there; an error when the file is anything but ours or empty.
Result<bool> Connection::is_store_file() {
  Statement query(database_,
                  "SELECT (SELECT application_id FROM pragma_application_id), "
                  "(SELECT user_version FROM pragma_user_version), "
                  "(SELECT count(*) FROM sqlite_schema)");
  const int code = query.step();
  if (code != SQLITE_ROW) return fail(error_of(sqlite3_errcode(database_), "read"));
  const std::int64_t application = query.number(0);
  const std::int64_t version = query.number(1);
  if (application == 0 && version == 0 && query.number(2) == 0) return false;
  if (application != application_id) {
    return fail(Error::invalid_operation(fmt::format(
        "\"{}\" is the database of another program, not a store file; name another file", path_)));
  }
  if (version != schema_version) {
    return fail(Error::invalid_operation(
        fmt::format("the store file \"{}\" has layout version {}; this build knows version {}",
                    path_, version, schema_version)));
  }
  return true;
}

Result<void> Connection::create_tables() {
  int code = execute("BEGIN IMMEDIATE");
  if (code != SQLITE_OK) return fail(error_of(code, "create"));
  // Another process may have been first.
  auto exists = is_store_file();
  if (exists && *exists) {
    roll_back();
    return {};
  }
  if (exists) {
    code = execute(fmt::format("CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), "
                               "identity BLOB NOT NULL, counter INTEGER NOT NULL); "
                               "INSERT INTO meta VALUES (1, randomblob(16), 0); "
                               "CREATE TABLE entries (key BLOB NOT NULL PRIMARY KEY, "
                               "value BLOB NOT NULL, version INTEGER NOT NULL); "
                               "PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
                               application_id, schema_version)
                       .c_str());
    if (code == SQLITE_OK) return {};
  }
  Error error = exists ? error_of(code, "create") : exists.error();
  roll_back();
  return fail(std::move(error));
}

Result<void> Connection::check_pages() {
  Statement check(database_, "PRAGMA quick_check(1)");
  const int code = check.step();
  if (code != SQLITE_ROW) return fail(error_of(code, "check"));
  const std::string verdict = check.text(0);
  if (verdict == "ok") return {};
  return fail(
      Error::data_lost(fmt::format("the store file \"{}\" is damaged: {}", path_, verdict)));
}

Result<void> Connection::read_identity() {
  Statement query(database_, "SELECT identity FROM meta");
  if (query.step() != SQLITE_ROW) return fail(error_of(sqlite3_errcode(database_), "identify"));
  struct stat file{};
  if (stat(path_.c_str(), &file) != 0) {
    return fail(Error::unavailable(fmt::format("the store file \"{}\" has gone", path_)));
  }
  epoch_ = {};
  mix(epoch_, query.bytes(0));
  mix(epoch_, static_cast<std::uint64_t>(file.st_dev));
  mix(epoch_, static_cast<std::uint64_t>(file.st_ino));
  mix(epoch_, as_bytes(boot_id()));
  return {};
}

bool Connection::is_current() const {
  int has_moved = 0;
  const int code = sqlite3_file_control(database_, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  return code == SQLITE_OK && has_moved == 0;
}

std::int64_t Connection::data_version() {
  data_version_->step();
  const std::int64_t version = data_version_->number(0);
  data_version_->reset();
  return version;
}

int Connection::execute(const char* sql) {
  return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
}

void Connection::roll_back() {
  if (is_in_transaction()) execute("ROLLBACK");
}

std::string Connection::last_error() const { return sqlite3_errmsg(database_); }

bool Connection::has_found_damage() const {
  const int code = first_code(sqlite3_errcode(database_));
  return code == SQLITE_NOTADB || code == SQLITE_CORRUPT || code == SQLITE_IOERR;
}

Error Connection::error_of(int code, std::string_view doing) const {
  const std::string reason = database_ == nullptr ? "out of memory" : sqlite3_errmsg(database_);
  const std::string what = fmt::format("cannot {} the store file \"{}\": {}", doing, path_, reason);
  if (is_lock_trouble(code)) {
    return Error::unavailable(what + "; another process keeps it locked");
  }
  switch (first_code(code)) {
    case SQLITE_CANTOPEN:
      return Error::not_found(what + "; its folder must exist and be open to this process");
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Error::rejected(what);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return Error::data_lost(what);
    default:
      return Error::unavailable(what);
  }
}

// Short sleeps of varying length: sqlite3_busy_timeout backs off so far that one of two steady
// writers starves for seconds.
int Connection::on_busy(void* self, int) {
  auto& connection = *static_cast<Connection*>(self);
  if (std::chrono::steady_clock::now() >= connection.deadline_) return 0;
  connection.jitter_ ^= connection.jitter_ << 13;
  connection.jitter_ ^= connection.jitter_ >> 7;
  connection.jitter_ ^= connection.jitter_ << 17;
  std::this_thread::sleep_for(std::chrono::microseconds(200 + connection.jitter_ % 1800));
  return 1;
}

}  // namespace spotmesh::store
