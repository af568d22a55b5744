// Pauses between attempts: doubling, bounded, with full jitter on the upper half, so that those who
// failed together do not come back together.
#pragma once

#include <algorithm>
#include <cstdint>

#include <spotmesh/time.hpp>

#include "base/random.hpp"

namespace spotmesh::location {

// The pause after `failures` attempts that failed in a row (1 or more).
inline Duration backoff(Random& random, unsigned failures, Duration first, Duration last) {
  const unsigned doublings = std::min(failures > 0 ? failures - 1 : 0, 20U);
  const Duration whole = std::min(Duration(first.count() << doublings), last);
  const auto half = static_cast<std::uint64_t>(whole.count() / 2);
  return Duration(static_cast<Duration::rep>(half + random_below(random, half + 1)));
}

}  // namespace spotmesh::location
