// Simulated time, as far as simulated parts need it: when it is, and something to happen later.
#pragma once

#include <functional>

#include <spotmesh/time.hpp>

namespace spotmesh::testing {

// One thread; nothing runs inside at(). Jobs of one moment run in the order they were given.
class SimTime {
 public:
  virtual ~SimTime() = default;
  virtual Instant now() const = 0;
  // `job` runs once when the simulation has come to `when`; a moment that has passed means now.
  virtual void at(Instant when, std::function<void()> job) = 0;
};

}  // namespace spotmesh::testing
