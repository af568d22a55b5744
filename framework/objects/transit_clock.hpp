// TransitClock: how much longer than need be a peer's message was under way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <spotmesh/time.hpp>

namespace spotmesh::objects {

// Two nodes share no clock, but the difference between sending and arriving is the same unknown
// number for all messages but for what they waited: in a lane, for a connection, in the network.
// The smallest difference of the last minute or two stands for a message that waited for nothing;
// so clocks that drift or jump are forgiven within that time. Not thread-safe.
class TransitClock {
 public:
  // What a message waited that was sent at `sent_at` of the peer's clock and came at `now`. Any
  // number may be claimed of the former.
  Duration delay(std::int64_t sent_at, Instant now) {
    std::int64_t passed = 0;
    if (__builtin_sub_overflow(now.since_origin.count(), sent_at, &passed)) return {};
    if (now - begun_ >= window) {
      former_ = now - begun_ < 2 * window ? present_ : std::nullopt;
      present_.reset();
      begun_ = now;
    }
    present_ = std::min(present_.value_or(passed), passed);
    const std::int64_t least = std::min(*present_, former_.value_or(*present_));
    std::int64_t delay = 0;
    if (__builtin_sub_overflow(passed, least, &delay)) return {};
    return Duration(delay);
  }

 private:
  static constexpr Duration window = std::chrono::minutes(1);

  Instant begun_{};
  std::optional<std::int64_t> former_;
  std::optional<std::int64_t> present_;
};

}  // namespace spotmesh::objects
