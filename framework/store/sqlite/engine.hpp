// The two threads of a SqliteStore and the queues before them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "location/store.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/operations.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace spotmesh::store {

class SqliteStore::Engine {
 public:
  Engine(SqliteOptions options, std::unique_ptr<Connection> reader,
         std::unique_ptr<Connection> writer);
  // Drains and joins.
  ~Engine();

  void read(std::vector<std::string> keys, location::ReadCallback done);
  void commit(location::Commit commit, location::CommitCallback done);
  void scan(std::string prefix, std::string cursor, std::size_t limit, location::ScanCallback done);
  void watch(std::string prefix, location::HintCallback hint);
  const SqliteOptions& options() const { return options_; }

 private:
  struct PendingCommit {
    location::Commit commit;
    location::CommitCallback done;
    SteadyTime deadline;
  };
  // A read or scan: answers itself, from the connection or with the error.
  using Query = std::function<void(Connection* connection, const Error* error)>;
  struct PendingQuery {
    Query query;
    SteadyTime deadline;
  };
  struct Watch {
    std::string prefix;
    location::HintCallback hint;
  };

  void add_query(Query query);
  // Answers without the store, on the reading thread. These have no bound of their own: nobody may
  // be held up here, and whoever calls keeps what he asked for until he is answered.
  void refuse(std::function<void()> answer);

  void run_writer();
  bool wait_for_commits(std::vector<PendingCommit>& commits);
  void execute(std::vector<PendingCommit>& commits);
  bool prepare_writer(SteadyTime deadline, std::string& reason);
  void settle(SteadyTime deadline);
  void answer_expired(std::vector<PendingCommit>& commits, const std::string& reason);

  void run_reader();
  bool wait_for_queries(std::vector<PendingQuery>& queries,
                        std::vector<std::function<void()>>& refusals);
  void execute(std::vector<PendingQuery>& queries);
  bool prepare_reader(SteadyTime deadline, Error& error);
  void drop_damaged_file();
  void look_for_changes();

  std::unique_ptr<Connection> reopen(SteadyTime deadline, std::string& reason);
  SteadyTime deadline_from_now() const;

  const SqliteOptions options_;
  std::unique_ptr<Connection> reader_;  // of the reading thread
  std::unique_ptr<Connection> writer_;  // of the committing thread
  std::int64_t last_data_version_ = 0;  // of the reading thread
  bool must_hint_ = false;              // of the reading thread

  std::mutex mutex_;
  std::condition_variable commits_changed_;
  std::condition_variable queries_changed_;
  std::deque<PendingCommit> commits_;
  std::deque<PendingQuery> queries_;
  std::vector<std::function<void()>> refusals_;
  std::vector<std::shared_ptr<const Watch>> watches_;
  bool is_stopping_ = false;
  bool writer_has_ended_ = false;
  // After an unknown outcome nothing is answered from the file until a later transaction of this
  // process has been committed: set and cleared by the committing thread only.
  bool must_settle_ = false;
  // The reading thread has found the file damaged: the committing thread opens it anew before it
  // writes again.
  bool is_damaged_ = false;
  SteadyTime settle_at_{};  // of the committing thread, as is the next
  Backoff settle_pauses_{
      {.first = std::chrono::milliseconds(20), .longest = std::chrono::milliseconds(500)}};

  std::thread writing_;
  std::thread reading_;
};

}  // namespace spotmesh::store
