// What stream.allowed_origins may hold.
#pragma once

#include <string_view>

#include <spotmesh/error.hpp>

namespace spotmesh::host {

// InvalidOperation, saying why, for what no browser ever sends as its origin: nobody could connect,
// and the mistake would show only there.
Result<void> validate_origin(std::string_view origin);

}  // namespace spotmesh::host
