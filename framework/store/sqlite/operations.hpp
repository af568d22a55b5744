// What the operations of the store are in SQL.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "location/store.hpp"
#include "runtime/faults.hpp"
#include "store/sqlite/connection.hpp"

namespace spotmesh::store {

// How a transaction with several commits went.
struct BatchResult {
  enum class Status {
    Answered,  // `results` has one per commit
    Locked,    // nothing was done: another process holds the file
    Broken     // `results` says Unavailable or Unknown; the connection must be opened anew
  };
  Status status = Status::Answered;
  std::vector<location::CommitResult> results;
  bool is_unknown = false;  // some result is Unknown
};

// Executes the commits in order, all in one transaction, each on its own terms: one that conflicts
// or fails leaves no trace and does not disturb the others.
BatchResult execute_commits(Connection& connection,
                            std::span<const location::Commit* const> commits,
                            runtime::Faults* faults);

// A transaction that changes nothing but the counter. Once it has been committed, no earlier
// transaction of this process can come to be applied any more.
bool execute_settling(Connection& connection);

// These run inside a transaction that the caller has begun.
Result<location::ReadResult> execute_read(Connection& connection,
                                          const std::vector<std::string>& keys);
Result<location::ScanPage> execute_scan(Connection& connection, const std::string& prefix,
                                        const std::string& cursor, std::size_t limit);

}  // namespace spotmesh::store
