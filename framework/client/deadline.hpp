// When a time that a caller has given is over.
#pragma once

#include <spotmesh/time.hpp>

namespace spotmesh::client {

// Never, for a time that reaches past the end of the clock, such as Duration::max().
inline Instant deadline_after(Instant now, Duration time) {
  return time > Instant::max() - now ? Instant::max() : now + time;
}

}  // namespace spotmesh::client
