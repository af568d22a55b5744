// Why a User Spot ends.
#pragma once

#include <cstdint>
#include <string_view>

namespace spotmesh {

enum class ClosingReason : std::uint8_t {
  Requested,  // Spots::close
  Empty,      // close_when_empty, and the last member has left
  Shutdown,   // the node stops
};

// "Requested", "Empty", "Shutdown".
std::string_view to_string(ClosingReason reason);

}  // namespace spotmesh
