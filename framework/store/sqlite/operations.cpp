#include "store/sqlite/operations.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::store {

using location::Commit;
using location::CommitResult;
using Outcome = location::CommitResult::Outcome;

namespace {

int first_code(int code) { return code & 0xff; }

location::StoreVersion version_of(const Connection& connection, std::int64_t counter) {
  return {connection.epoch(), static_cast<std::uint64_t>(counter)};
}

CommitResult without_effect(Outcome outcome, std::string message) {
  CommitResult result;
  result.outcome = outcome;
  result.message = std::move(message);
  return result;
}

BatchResult all(std::size_t count, BatchResult::Status status, Outcome outcome,
                const std::string& message) {
  BatchResult batch;
  batch.status = status;
  batch.results.assign(count, without_effect(outcome, message));
  batch.is_unknown = outcome == Outcome::Unknown;
  return batch;
}

// One transaction with its counter.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {}

  int begin() {
    int code = connection_.execute("BEGIN IMMEDIATE");
    if (code != SQLITE_OK) return code;
    Statement& query = connection_.statements().counter;
    code = query.step();
    counter_ = first_ = query.number(0);
    query.reset();
    return code == SQLITE_ROW ? SQLITE_OK : code;
  }

  CommitResult execute(const Commit& commit) {
    std::optional<std::string> failed;
    if (int code = check(commit, failed); code != SQLITE_OK) return broken();
    if (failed) {
      CommitResult result = without_effect(Outcome::Conflict, {});
      result.epoch = connection_.epoch();
      result.failed_key = std::move(*failed);
      return result;
    }
    if (!touch()) return without_effect(Outcome::Unavailable, "the version counter is exhausted");
    return apply(commit);
  }

  int commit() {
    if (counter_ != first_) {
      Statement& set = connection_.statements().set_counter;
      set.bind(1, counter_);
      if (int code = set.run(); code != SQLITE_OK) return code;
    }
    return connection_.execute("COMMIT");
  }

  // False when there is no number left.
  bool touch() {
    if (counter_ == std::numeric_limits<std::int64_t>::max()) return false;
    ++counter_;
    return true;
  }
  // Whether a commit failed in a way that has ended the whole transaction.
  bool is_broken() const { return is_broken_ || !connection_.is_in_transaction(); }
  bool is_out_of_room() const { return is_out_of_room_; }

 private:
  int check(const Commit& commit, std::optional<std::string>& failed) {
    if (commit.epoch && *commit.epoch != connection_.epoch()) {
      failed.emplace();
      return SQLITE_OK;
    }
    Statement& query = connection_.statements().version;
    for (const location::Condition& condition : commit.conditions) {
      query.bind(1, condition.key);
      const int code = query.step();
      const bool is_present = code == SQLITE_ROW;
      const std::int64_t counter = is_present ? query.number(0) : 0;
      query.reset();
      if (!is_present && code != SQLITE_DONE) return code;
      const bool holds = condition.version
                             ? is_present && version_of(connection_, counter) == *condition.version
                             : !is_present;
      if (!holds) {
        failed = condition.key;
        return SQLITE_OK;
      }
    }
    return SQLITE_OK;
  }

  CommitResult apply(const Commit& commit) {
    if (connection_.execute("SAVEPOINT one") != SQLITE_OK) return broken();
    for (const location::Write& write : commit.writes) {
      if (int code = apply(write); code != SQLITE_OK) {
        is_out_of_room_ = first_code(code) == SQLITE_FULL;
        return take_back();
      }
    }
    if (connection_.execute("RELEASE one") != SQLITE_OK) return broken();
    CommitResult result = without_effect(Outcome::Ok, {});
    result.epoch = connection_.epoch();
    result.versions.assign(commit.writes.size(), version_of(connection_, counter_));
    return result;
  }

  int apply(const location::Write& write) {
    auto& statements = connection_.statements();
    Statement& statement = write.value ? statements.put : statements.remove;
    statement.bind(1, write.key);
    if (write.value) {
      statement.bind(2, ByteView(*write.value));
      statement.bind(3, counter_);
    }
    return statement.run();
  }

  CommitResult take_back() {
    std::string reason = connection_.last_error();
    if (!connection_.is_in_transaction() ||
        connection_.execute("ROLLBACK TO one; RELEASE one") != SQLITE_OK) {
      is_broken_ = true;
    }
    --counter_;
    return without_effect(Outcome::Unavailable, std::move(reason));
  }

  CommitResult broken() {
    is_broken_ = true;
    return without_effect(Outcome::Unavailable, connection_.last_error());
  }

  Connection& connection_;
  std::int64_t first_ = 0;
  std::int64_t counter_ = 0;
  bool is_broken_ = false;
  bool is_out_of_room_ = false;
};

// The COMMIT of a batch has failed.
BatchResult after_failed_commit(Connection& connection, int code, std::size_t count) {
  const std::string reason = connection.last_error();
  const bool was_refused = first_code(code) == SQLITE_FULL || first_code(code) == SQLITE_BUSY;
  connection.roll_back();
  if (was_refused) {
    return all(count, BatchResult::Status::Answered, Outcome::Unavailable, reason);
  }
  return all(count, BatchResult::Status::Broken, Outcome::Unknown, reason);
}

// One commit has taken the transaction of all down: SQLite ends it when the disk is full.
BatchResult execute_one_by_one(Connection& connection, std::span<const Commit* const> commits,
                               runtime::Faults* faults) {
  BatchResult batch;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    BatchResult one = execute_commits(connection, commits.subspan(i, 1), faults);
    if (one.status == BatchResult::Status::Locked) {
      one.results = {without_effect(Outcome::Unavailable, "another process locked the store file")};
    }
    batch.results.push_back(std::move(one.results.front()));
    batch.is_unknown = batch.is_unknown || one.is_unknown;
    if (one.status != BatchResult::Status::Broken) continue;
    batch.status = BatchResult::Status::Broken;
    const std::string reason = batch.results.back().message;
    batch.results.resize(commits.size(), without_effect(Outcome::Unavailable, reason));
    break;
  }
  return batch;
}

std::optional<BatchResult> strike(Connection& connection, runtime::Faults* faults,
                                  Transaction& transaction, std::size_t count) {
  if (runtime::fault_strikes(faults, "sqlite.commit-lost")) {
    connection.roll_back();
    return all(count, BatchResult::Status::Broken, Outcome::Unknown, "struck before the commit");
  }
  if (runtime::fault_strikes(faults, "sqlite.commit-applied")) {
    transaction.commit();
    return all(count, BatchResult::Status::Broken, Outcome::Unknown, "struck after the commit");
  }
  return std::nullopt;
}

location::ScanPage page_of(Connection& connection, Statement& query, const std::string& prefix,
                           std::size_t limit, int& code) {
  location::ScanPage page{connection.epoch(), {}, {}};
  std::size_t bytes = 0;
  while ((code = query.step()) == SQLITE_ROW) {
    std::string key = query.text(0);
    if (!key.starts_with(prefix)) break;
    if (page.entries.size() == limit || bytes >= location::max_scan_page_bytes) {
      page.next = page.entries.back().key;
      break;
    }
    page.entries.push_back(
        {std::move(key), {query.bytes(1), version_of(connection, query.number(2))}});
    bytes += page.entries.back().stored.value.size();
  }
  return page;
}

}  // namespace

BatchResult execute_commits(Connection& connection, std::span<const Commit* const> commits,
                            runtime::Faults* faults) {
  Transaction transaction(connection);
  if (const int code = transaction.begin(); code != SQLITE_OK) {
    const std::string reason = connection.last_error();
    connection.roll_back();
    if (first_code(code) == SQLITE_BUSY) return {BatchResult::Status::Locked, {}, false};
    return all(commits.size(), BatchResult::Status::Broken, Outcome::Unavailable, reason);
  }
  BatchResult batch;
  for (const Commit* commit : commits) {
    batch.results.push_back(transaction.execute(*commit));
    if (!transaction.is_broken()) continue;
    const std::string reason = batch.results.back().message;
    const auto status =
        transaction.is_out_of_room() ? BatchResult::Status::Answered : BatchResult::Status::Broken;
    connection.roll_back();
    if (commits.size() > 1) return execute_one_by_one(connection, commits, faults);
    return all(1, status, Outcome::Unavailable, reason);
  }
  if (auto struck = strike(connection, faults, transaction, commits.size())) return *struck;
  const int code = transaction.commit();
  if (code != SQLITE_OK) return after_failed_commit(connection, code, commits.size());
  return batch;
}

bool execute_settling(Connection& connection) {
  Transaction transaction(connection);
  if (transaction.begin() != SQLITE_OK) {
    connection.roll_back();
    return false;
  }
  if (transaction.touch() && transaction.commit() == SQLITE_OK) return true;
  connection.roll_back();
  return false;
}

Result<location::ReadResult> execute_read(Connection& connection,
                                          const std::vector<std::string>& keys) {
  location::ReadResult result{connection.epoch(), {}};
  Statement& query = connection.statements().find;
  for (const std::string& key : keys) {
    query.bind(1, key);
    const int code = query.step();
    if (code == SQLITE_ROW) {
      result.values.emplace_back(
          location::StoredValue{query.bytes(0), version_of(connection, query.number(1))});
    } else {
      result.values.emplace_back(std::nullopt);
    }
    query.reset();
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
      return fail(Error::unavailable(
          fmt::format("cannot read the store file: {}", connection.last_error())));
    }
  }
  return result;
}

Result<location::ScanPage> execute_scan(Connection& connection, const std::string& prefix,
                                        const std::string& cursor, std::size_t limit) {
  const bool is_first = cursor < prefix;
  auto& statements = connection.statements();
  Statement& query = is_first ? statements.scan_from : statements.scan_after;
  query.bind(1, is_first ? prefix : cursor);
  query.bind(2, static_cast<std::int64_t>(limit) + 1);
  int code = SQLITE_DONE;
  location::ScanPage page = page_of(connection, query, prefix, limit, code);
  query.reset();
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    return fail(
        Error::unavailable(fmt::format("cannot scan the store file: {}", connection.last_error())));
  }
  return page;
}

}  // namespace spotmesh::store
