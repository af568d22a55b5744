// How many files, and so how many clients, the process may have open.
#pragma once

#include <cstddef>

#include "base/log.hpp"

namespace spotmesh::host {

// Raises the process's limit to `wanted` as far as the system lets it, and says in the log when
// that is less. Systems start programs with room for a thousand clients.
void allow_open_files(std::size_t wanted, LogSink& log);

}  // namespace spotmesh::host
