// The production Clock.
#pragma once

#include "runtime/clock.hpp"

namespace spotmesh::net {

// Reads CLOCK_BOOTTIME, which goes on while the machine is suspended: a lease that ran out in the
// meantime has run out. Has no state; safe from any thread.
class SystemClock final : public runtime::Clock {
 public:
  Instant now() const override;
  WallTime wall_now() const override;
};

}  // namespace spotmesh::net
