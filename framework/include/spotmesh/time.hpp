// Time as the runtime sees it: durations in nanoseconds on a monotonic clock that counts suspended
// time.
#pragma once

#include <chrono>
#include <cstdint>

namespace spotmesh {

using Duration = std::chrono::nanoseconds;

// A moment on a node's monotonic clock. Only differences mean something; no two nodes share one.
struct Instant {
  Duration since_origin{0};

  friend bool operator==(const Instant&, const Instant&) = default;
  friend auto operator<=>(const Instant&, const Instant&) = default;
  friend Instant operator+(Instant at, Duration by) { return {at.since_origin + by}; }
  friend Instant operator-(Instant at, Duration by) { return {at.since_origin - by}; }
  friend Duration operator-(Instant a, Instant b) { return a.since_origin - b.since_origin; }
  static constexpr Instant max() { return {Duration::max()}; }
};

// Milliseconds since 1970 for logs and people; decides nothing.
struct WallTime {
  std::int64_t unix_milliseconds = 0;
};

}  // namespace spotmesh
