// How long a machine waits before it asks the Location Store again about an object.
#pragma once

#include <chrono>

#include <spotmesh/time.hpp>

#include "base/retry_pause.hpp"

namespace spotmesh::location {

inline Duration store_pause(Random& random, unsigned failures) {
  constexpr auto first = std::chrono::milliseconds(20);
  constexpr auto last = std::chrono::milliseconds(500);
  return retry_pause(random, failures, first, last);
}

}  // namespace spotmesh::location
