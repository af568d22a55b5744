// The Clock seam.
#pragma once

#include <spotmesh/time.hpp>

namespace spotmesh::runtime {

// A node's monotonic clock, counting suspended time (CLOCK_BOOTTIME), plus wall time for people. A
// gate reads it at the start of a batch of turns and again at a flush; code inside a turn uses the
// turn's reading. Safe from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
  virtual WallTime wall_now() const = 0;
};

}  // namespace spotmesh::runtime
