// The stream of events of a cluster, on and on.
#pragma once

#include <cstdint>
#include <optional>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "cli/admin_client.hpp"
#include "cli/lists.hpp"

namespace spotmesh::cli {

struct WatchOptions {
  bool as_json = false;          // the messages of the stream, one per line
  bool with_rows = false;        // those of the snapshot, too
  std::optional<Duration> time;  // to watch; empty: for ever
  std::uint64_t events = 0;      // to print; 0: any number
};

// Until the time is over, so many events have been told, or nobody reads the output. The error says
// why the stream has ended before.
Result<void> watch(const AdminClient& client, const WatchOptions& options, Output output);

}  // namespace spotmesh::cli
