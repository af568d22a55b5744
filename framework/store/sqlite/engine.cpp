#include "store/sqlite/engine.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::store {

using location::CommitResult;
using std::chrono::steady_clock;
using Outcome = location::CommitResult::Outcome;

namespace {

CommitResult without_effect(Outcome outcome, std::string message) {
  CommitResult result;
  result.outcome = outcome;
  result.message = std::move(message);
  return result;
}

constexpr std::size_t queries_per_transaction = 64;

}  // namespace

SqliteStore::Engine::Engine(SqliteOptions options, std::unique_ptr<Connection> reader,
                            std::unique_ptr<Connection> writer)
    : options_(std::move(options)), reader_(std::move(reader)), writer_(std::move(writer)) {
  last_data_version_ = reader_->data_version();
  writing_ = std::thread([this] { run_writer(); });
  reading_ = std::thread([this] { run_reader(); });
}

SqliteStore::Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  commits_changed_.notify_all();
  queries_changed_.notify_all();
  writing_.join();
  reading_.join();
}

SteadyTime SqliteStore::Engine::deadline_from_now() const {
  return steady_clock::now() +
         std::chrono::duration_cast<steady_clock::duration>(options_.operation_timeout);
}

void SqliteStore::Engine::refuse(std::function<void()> answer) {
  {
    const std::lock_guard lock(mutex_);
    refusals_.push_back(std::move(answer));
  }
  queries_changed_.notify_one();
}

void SqliteStore::Engine::commit(location::Commit commit, location::CommitCallback done) {
  if (std::string fault = location::fault_of_commit(commit); !fault.empty()) {
    return refuse([done = std::move(done), fault = std::move(fault)] {
      done(without_effect(Outcome::Malformed, fault));
    });
  }
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) {
      reason = "the store is being closed";
    } else if (commits_.size() >= options_.queue_limit) {
      reason = fmt::format("{} commits are waiting for the store already", commits_.size());
    } else {
      commits_.push_back({std::move(commit), std::move(done), deadline_from_now()});
    }
  }
  if (reason.empty()) {
    commits_changed_.notify_one();
  } else {
    refuse(
        [done = std::move(done), reason] { done(without_effect(Outcome::Unavailable, reason)); });
  }
}

void SqliteStore::Engine::read(std::vector<std::string> keys, location::ReadCallback done) {
  const std::string fault = location::fault_of_read(keys);
  if (!fault.empty()) {
    return refuse([done = std::move(done), fault] { done(fail(Error::invalid_operation(fault))); });
  }
  add_query(
      [keys = std::move(keys), done = std::move(done)](Connection* connection, const Error* error) {
        done(connection == nullptr ? fail(*error) : execute_read(*connection, keys));
      });
}

void SqliteStore::Engine::scan(std::string prefix, std::string cursor, std::size_t limit,
                               location::ScanCallback done) {
  const std::string fault = location::fault_of_scan(prefix, cursor, limit);
  if (!fault.empty()) {
    return refuse([done = std::move(done), fault] { done(fail(Error::invalid_operation(fault))); });
  }
  add_query([prefix = std::move(prefix), cursor = std::move(cursor), limit, done = std::move(done)](
                Connection* connection, const Error* error) {
    done(connection == nullptr ? fail(*error) : execute_scan(*connection, prefix, cursor, limit));
  });
}

void SqliteStore::Engine::add_query(Query query) {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) {
      reason = "the store is being closed";
    } else if (queries_.size() >= options_.queue_limit) {
      reason = fmt::format("{} reads are waiting for the store already", queries_.size());
    } else {
      queries_.push_back({std::move(query), deadline_from_now()});
    }
  }
  if (reason.empty()) {
    queries_changed_.notify_one();
  } else {
    refuse(
        [query = std::move(query), error = Error::unavailable(reason)] { query(nullptr, &error); });
  }
}

void SqliteStore::Engine::watch(std::string prefix, location::HintCallback hint) {
  {
    const std::lock_guard lock(mutex_);
    watches_.push_back(std::make_shared<const Watch>(Watch{std::move(prefix), std::move(hint)}));
  }
  queries_changed_.notify_one();
}

std::unique_ptr<Connection> SqliteStore::Engine::reopen(SteadyTime deadline, std::string& reason) {
  auto opened = Connection::open(
      {.path = options_.path, .may_create = false, .max_file_bytes = options_.max_file_bytes},
      deadline);
  if (opened) return std::move(*opened);
  reason = opened.error().message();
  return nullptr;
}

// The committing thread.

void SqliteStore::Engine::run_writer() {
  std::vector<PendingCommit> commits;
  while (wait_for_commits(commits)) {
    if (commits.empty()) settle(deadline_from_now());
    execute(commits);
    commits.clear();
  }
  const std::lock_guard lock(mutex_);
  writer_has_ended_ = true;
  queries_changed_.notify_one();
}

// False when the store is being closed and nothing waits. Without commits: an unknown outcome is to
// be settled, which must not depend on a commit: whoever waits for it may do nothing but read.
bool SqliteStore::Engine::wait_for_commits(std::vector<PendingCommit>& commits) {
  std::unique_lock lock(mutex_);
  const auto is_due = [this] { return is_stopping_ || !commits_.empty(); };
  if (must_settle_) {
    commits_changed_.wait_until(lock, settle_at_, is_due);
  } else {
    commits_changed_.wait(lock, is_due);
  }
  const std::size_t count = std::min(commits_.size(), options_.commits_per_transaction);
  const auto end = commits_.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(commits_.begin(), end, std::back_inserter(commits));
  commits_.erase(commits_.begin(), end);
  return !commits.empty() || !is_stopping_;
}

// A connection to the file that the path names now, with nothing unsettled behind it.
bool SqliteStore::Engine::prepare_writer(SteadyTime deadline, std::string& reason) {
  bool must_settle = false;
  {
    const std::lock_guard lock(mutex_);
    must_settle = must_settle_;
    if (std::exchange(is_damaged_, false)) writer_.reset();
  }
  if (writer_ && !writer_->is_current()) writer_.reset();
  if (!writer_) writer_ = reopen(deadline, reason);
  if (!writer_) return false;
  writer_->set_deadline(deadline);
  if (!must_settle) return true;
  if (!execute_settling(*writer_)) {
    reason = "an earlier outcome is not settled yet: " + writer_->last_error();
    return false;
  }
  settle_pauses_.reset();
  const std::lock_guard lock(mutex_);
  must_settle_ = false;
  return true;
}

void SqliteStore::Engine::settle(SteadyTime deadline) {
  std::string reason;
  if (prepare_writer(deadline, reason)) return;
  settle_at_ = steady_clock::now() +
               std::chrono::duration_cast<steady_clock::duration>(settle_pauses_.next());
}

void SqliteStore::Engine::execute(std::vector<PendingCommit>& commits) {
  while (!commits.empty()) {
    // They came in order, so the first is the one that can wait least.
    const SteadyTime deadline = commits.front().deadline;
    std::string reason = "another process keeps the store file locked";
    BatchResult batch;
    batch.status = BatchResult::Status::Locked;
    if (prepare_writer(deadline, reason)) {
      std::vector<const location::Commit*> pointers;
      for (const PendingCommit& pending : commits) pointers.push_back(&pending.commit);
      batch = execute_commits(*writer_, pointers, options_.faults);
    }
    if (batch.status == BatchResult::Status::Locked) {
      answer_expired(commits, reason);
      continue;
    }
    if (batch.status == BatchResult::Status::Broken) writer_.reset();
    if (batch.is_unknown) {
      {
        const std::lock_guard lock(mutex_);
        must_settle_ = true;
      }
      // Whoever learns of it reads next, and is refused for as long as it is not settled.
      settle(deadline);
    }
    for (std::size_t i = 0; i < commits.size(); ++i) {
      commits[i].done(std::move(batch.results[i]));
    }
    return;
  }
}

// Answers those that cannot wait for another attempt; the first always, since the attempt that
// failed had all of its time or cannot be made better by waiting.
void SqliteStore::Engine::answer_expired(std::vector<PendingCommit>& commits,
                                         const std::string& reason) {
  const SteadyTime now = steady_clock::now();
  std::size_t expired = 1;
  while (expired < commits.size() && commits[expired].deadline <= now) ++expired;
  for (std::size_t i = 0; i < expired; ++i)
    commits[i].done(without_effect(Outcome::Unavailable, reason));
  commits.erase(commits.begin(), commits.begin() + static_cast<std::ptrdiff_t>(expired));
}

// The reading thread.

void SqliteStore::Engine::run_reader() {
  std::vector<PendingQuery> queries;
  std::vector<std::function<void()>> refusals;
  while (wait_for_queries(queries, refusals)) {
    for (const auto& answer : refusals) answer();
    if (!queries.empty()) execute(queries);
    look_for_changes();
    queries.clear();
    refusals.clear();
  }
}

// False when the store is being closed and nothing can come any more.
bool SqliteStore::Engine::wait_for_queries(std::vector<PendingQuery>& queries,
                                           std::vector<std::function<void()>>& refusals) {
  std::unique_lock lock(mutex_);
  const auto is_due = [this] {
    return !queries_.empty() || !refusals_.empty() || (is_stopping_ && writer_has_ended_);
  };
  if (watches_.empty()) {
    queries_changed_.wait(lock, [&] { return is_due() || !watches_.empty(); });
  } else {
    queries_changed_.wait_for(lock, options_.hint_interval, is_due);
  }
  const std::size_t count = std::min(queries_.size(), queries_per_transaction);
  const auto end = queries_.begin() + static_cast<std::ptrdiff_t>(count);
  std::move(queries_.begin(), end, std::back_inserter(queries));
  queries_.erase(queries_.begin(), end);
  refusals.swap(refusals_);
  return !queries.empty() || !refusals.empty() || !(is_stopping_ && writer_has_ended_);
}

bool SqliteStore::Engine::prepare_reader(SteadyTime deadline, Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (must_settle_) {
      error = Error::unavailable("an earlier commit's outcome is not settled yet");
      return false;
    }
  }
  if (reader_ && !reader_->is_current()) reader_.reset();
  if (!reader_) {
    std::string reason;
    reader_ = reopen(deadline, reason);
    if (!reader_) {
      error = Error::unavailable(std::move(reason));
      return false;
    }
    must_hint_ = true;
  }
  reader_->set_deadline(deadline);
  if (reader_->execute("BEGIN") == SQLITE_OK) return true;
  error = Error::unavailable(fmt::format("cannot read the store file: {}", reader_->last_error()));
  reader_.reset();
  return false;
}

void SqliteStore::Engine::execute(std::vector<PendingQuery>& queries) {
  Error error = Error::unavailable({});
  if (!prepare_reader(queries.front().deadline, error)) {
    for (const PendingQuery& pending : queries) pending.query(nullptr, &error);
    return;
  }
  bool is_damaged = false;
  for (const PendingQuery& pending : queries) {
    pending.query(reader_.get(), nullptr);
    is_damaged = is_damaged || reader_->has_found_damage();
  }
  if (is_damaged) return drop_damaged_file();
  if (reader_->execute("COMMIT") != SQLITE_OK) reader_.reset();
}

// The writer would go on for long from what it has in memory, and keep the lease of a node alive
// that reads nothing any more. Whoever opens the file anew looks at all of it first.
void SqliteStore::Engine::drop_damaged_file() {
  reader_.reset();
  const std::lock_guard lock(mutex_);
  is_damaged_ = true;
}

void SqliteStore::Engine::look_for_changes() {
  std::vector<std::shared_ptr<const Watch>> watches;
  {
    const std::lock_guard lock(mutex_);
    watches = watches_;
  }
  if (watches.empty()) return;
  if (reader_) {
    const std::int64_t version = reader_->data_version();
    must_hint_ = must_hint_ || version != last_data_version_;
    last_data_version_ = version;
  }
  if (!must_hint_) return;
  must_hint_ = false;
  for (const auto& watch : watches) watch->hint(watch->prefix);
}

}  // namespace spotmesh::store
