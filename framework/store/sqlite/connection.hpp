// One connection to a store file: opening it with every check, its statements, its identity.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

#include "location/store.hpp"

namespace spotmesh::store {

using SteadyTime = std::chrono::steady_clock::time_point;

// A prepared statement. Used as: bind, step until done, reset.
class Statement {
 public:
  Statement(sqlite3* database, std::string_view sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int position, ByteView bytes);
  void bind(int position, std::string_view text) { bind(position, as_bytes(text)); }
  void bind(int position, std::int64_t number);
  // The SQLite result code: SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  // Runs a statement that returns nothing of interest; SQLITE_OK or an error.
  int run();
  void reset();

  Bytes bytes(int column) const;
  std::string text(int column) const;
  std::int64_t number(int column) const;

 private:
  sqlite3_stmt* statement_ = nullptr;
};

// Not thread-safe; each thread has its own.
class Connection {
 public:
  struct Settings {
    std::string path;
    bool may_create = false;
    std::uint64_t max_file_bytes = 0;
  };
  // Tries until `deadline` while another process has the file locked.
  static Result<std::unique_ptr<Connection>> open(const Settings& settings, SteadyTime deadline);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Until when a statement waits for a lock of another process.
  void set_deadline(SteadyTime deadline) { deadline_ = deadline; }
  const location::StoreEpoch& epoch() const { return epoch_; }
  // Whether the path still names the file that was opened.
  bool is_current() const;
  // A number that changes with each commit of another connection.
  std::int64_t data_version();

  int execute(const char* sql);
  bool is_in_transaction() const { return sqlite3_get_autocommit(database_) == 0; }
  // Ends a transaction that may have been ended by SQLite already.
  void roll_back();
  std::string last_error() const;
  // Whether what was done last has failed because the file, which is there, is not what it was.
  bool has_found_damage() const;

  // The statements that the operations are made of; prepared once.
  struct Statements {
    explicit Statements(sqlite3* database);
    Statement find;     // key → value, version
    Statement version;  // key → version
    Statement put;      // key, value, version
    Statement remove;   // key
    Statement scan_from;
    Statement scan_after;
    Statement counter;
    Statement set_counter;
  };
  Statements& statements() { return *statements_; }

 private:
  explicit Connection(std::string path) : path_(std::move(path)) {}

  Result<void> open_file(bool may_create);
  Result<void> prepare_file(const Settings& settings);
  Result<bool> is_store_file();
  Result<void> create_tables();
  Result<void> read_identity();
  Result<void> check_pages();
  Error error_of(int code, std::string_view doing) const;
  static int on_busy(void* self, int times);

  std::string path_;
  sqlite3* database_ = nullptr;
  SteadyTime deadline_{};
  std::uint64_t jitter_ = 0;
  location::StoreEpoch epoch_;
  std::unique_ptr<Statements> statements_;
  std::unique_ptr<Statement> data_version_;
};

}  // namespace spotmesh::store
