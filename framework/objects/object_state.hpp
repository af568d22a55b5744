// The states of a cell, as the strand sees them.
#pragma once

#include <cstdint>

namespace spotmesh::objects {

enum class CellState : std::uint8_t {
  Creating,  // staged: no one can find it
  Ready,
  Ending,  // being destroyed or closed: takes no message and no Join
  Gone
};

}  // namespace spotmesh::objects
