// Keyed timers of Actors and Spots, as a game sees them.
#pragma once

#include <cstdint>

#include <spotmesh/time.hpp>

namespace spotmesh {

// What happens to the points of a periodic timer's schedule that pass while an earlier tick still
// waits for its turn or runs. A key never runs concurrently with itself under any of them.
class OverrunPolicy {
 public:
  enum class Kind : std::uint8_t { SkipLateTicks, CatchUpBounded, DelayNextTick };

  // Late points are dropped; the next tick comes at the next point of the schedule (the default).
  static constexpr OverrunPolicy skip_late_ticks() { return {Kind::SkipLateTicks, 0}; }
  // At most the `ticks` latest of the late points are delivered, one turn each, as soon as turns
  // are free; the others are dropped.
  static constexpr OverrunPolicy catch_up_bounded(std::uint32_t ticks) {
    return {Kind::CatchUpBounded, ticks};
  }
  // Nothing is dropped: after an overrun the next tick comes one interval after the late one ended,
  // and the schedule goes on from there.
  static constexpr OverrunPolicy delay_next_tick() { return {Kind::DelayNextTick, 0}; }

  Kind kind() const { return kind_; }
  // How many late ticks catch_up_bounded delivers; 0 under the other policies.
  std::uint32_t bound() const { return bound_; }
  friend bool operator==(const OverrunPolicy&, const OverrunPolicy&) = default;

 private:
  constexpr OverrunPolicy(Kind kind, std::uint32_t bound) : kind_(kind), bound_(bound) {}
  Kind kind_;
  std::uint32_t bound_;
};

// What a timer handler is told about its tick. The indices count within one generation of the key
// and stay through every move of the owner.
struct TimerTick {
  std::uint64_t delivery_index = 0;   // 1, 2, 3 … without gaps
  std::uint64_t scheduled_index = 0;  // which point of the schedule this is, from 1
  std::uint64_t skipped = 0;          // points dropped since the tick before
  friend bool operator==(const TimerTick&, const TimerTick&) = default;
};

}  // namespace spotmesh
