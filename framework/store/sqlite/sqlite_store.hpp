// The embedded LocationStore: one SQLite file that several processes of one machine share.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "location/store.hpp"
#include "runtime/faults.hpp"

namespace spotmesh::store {

struct SqliteOptions {
  std::string path;
  // Operations waiting, for reads and scans and again for commits; past it: Unavailable.
  std::size_t queue_limit = 4096;
  // Longest time from the call to the answer while another process has the file locked.
  Duration operation_timeout = std::chrono::seconds(2);
  // How often a change by another process is looked for, while somebody watches.
  Duration hint_interval = std::chrono::milliseconds(50);
  // Commits that share one transaction.
  std::size_t commits_per_transaction = 128;
  // The file grows no larger; 0: no bound.
  std::uint64_t max_file_bytes = 0;
  // Null in production. Points, asked at the end of a transaction: "sqlite.commit-lost" and
  // "sqlite.commit-applied", each with an unknown outcome.
  runtime::Faults* faults = nullptr;
};

// "sqlite:./cluster.db" or "sqlite:/var/lib/game/cluster.db". InvalidOperation names what is wrong.
Result<SqliteOptions> parse_sqlite_url(std::string_view url);

// WAL, synchronous NORMAL. Two threads of its own: commits are executed by one, many in one
// transaction, reads and scans by the other, which a locked file never delays. Callbacks run on
// these threads.
//
// The epoch is made of an identity written into the file when it was created, the file's device and
// inode, and the machine's boot id: after a power loss the last commits may be missing, and a file
// that was restored may lack any number. A restore must put a new file in place (mv), with no -wal
// or -shm file of the old one beside it; a running process notices and goes over to it.
class SqliteStore : public location::LocationStore {
 public:
  // Opens the file, and creates it if it is not there. Unavailable when another process keeps it
  // locked for operation_timeout; DataLost when it is damaged or no SQLite file; InvalidOperation
  // when it belongs to another program or another version; NotFound when its folder does not exist;
  // Rejected when it cannot be written.
  static Result<std::unique_ptr<SqliteStore>> open(SqliteOptions options);

  // Executes what is waiting, within operation_timeout; when it returns every callback has run.
  ~SqliteStore() override;

  void read(std::vector<std::string> keys, location::ReadCallback done) override;
  void commit(location::Commit commit, location::CommitCallback done) override;
  void scan(std::string prefix, std::string cursor, std::size_t limit,
            location::ScanCallback done) override;
  // Passes the prefix itself: that something has changed is all that is known.
  void watch(std::string prefix, location::HintCallback hint) override;
  std::string describe() const override;

 private:
  class Engine;
  explicit SqliteStore(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace spotmesh::store
