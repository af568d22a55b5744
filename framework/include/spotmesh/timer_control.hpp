// TimerControl: the keyed timers of an Actor or Spot.
#pragma once

#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::objects {
class TimerBackend;
}

namespace spotmesh {

// Starts and stops the timers that the owner's handlers() declared. Only on turns of the owner's
// gate, and for an Actor in callbacks that are given it; anywhere else each call is
// InvalidOperation. All timers end with their owner.
class TimerControl {
 public:
  explicit TimerControl(objects::TimerBackend& backend) : backend_(&backend) {}

  // Ticks every `period` (at least 1 ms), the first after one period. A key that runs already
  // starts a new generation: no tick of the old one is delivered any more. NotFound when no timer
  // of that key was declared, CapacityExceeded past limits::timers_per_owner.
  Result<void> start(std::string_view key, Duration period);
  // One tick after `delay` (0 or more). Errors as start().
  Result<void> start_once(std::string_view key, Duration delay);
  // Whether a timer of that key was running. No tick of it is delivered any more, not even one that
  // already waits.
  bool cancel(std::string_view key);

 private:
  objects::TimerBackend* backend_;
};

}  // namespace spotmesh
