// A simulated node's clock: the world's time seen through an offset, a drift and steps.
#pragma once

#include <cstdint>

#include <spotmesh/time.hpp>

#include "runtime/clock.hpp"
#include "testing/sim_time.hpp"

namespace spotmesh::testing {

class SimClock final : public runtime::Clock {
 public:
  // A node's own time has nothing to do with the world's: it starts at `offset` when the world
  // stands where it stands now, and gains `drift_ppm` microseconds a second.
  SimClock(const SimTime& world, Duration offset, std::int32_t drift_ppm);

  Instant now() const override { return local_at(world_.now()); }
  WallTime wall_now() const override;

  void set_drift(std::int32_t drift_ppm);
  // The machine was suspended for `by`, or the clock jumped; never back.
  void step(Duration by);
  // Wall time decides nothing, so it may go anywhere.
  void step_wall(std::int64_t milliseconds) { wall_offset_ += milliseconds; }

  Instant local_at(Instant world) const;
  // The first moment of the world at which this clock shows `local` or more; now at the earliest.
  Instant world_at(Instant local) const;

 private:
  void rebase(Duration step);

  const SimTime& world_;
  std::int32_t drift_ppm_;
  Instant base_world_;
  Instant base_local_;
  std::int64_t wall_offset_ = 1'700'000'000'000;  // some day in 2023
};

}  // namespace spotmesh::testing
