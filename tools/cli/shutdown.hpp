// Telling a node to stop, and waiting until it has.
#pragma once

#include <string>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "cli/admin_client.hpp"
#include "cli/lists.hpp"

namespace spotmesh::cli {

struct ShutdownOptions {
  std::string node;      // its RID, or as much of its beginning as no other has
  std::string deadline;  // "30s"; empty: what the node is set to
  Duration wait{};       // for it to be gone
  bool waits = true;
};

// NotFound: no node begins like that, or InvalidOperation: several do. DeadlineExceeded: it has
// been told, and is still there. Else as of AdminClient.
Result<void> shut_down(const AdminClient& client, const ShutdownOptions& options, Output output);

// The one of `nodes` that is meant.
Result<std::string> node_meant(const std::string& text, const std::vector<std::string>& nodes);

}  // namespace spotmesh::cli
