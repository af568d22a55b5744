#include "testing/sim_clock.hpp"

#include <algorithm>
#include <cassert>

namespace spotmesh::testing {
namespace {

// No cluster runs long enough for these products to leave 128 bits.
__extension__ using Wide = __int128;

constexpr Wide million = 1'000'000;

Duration narrow(Wide nanoseconds) {
  return Duration(static_cast<Duration::rep>(std::min<Wide>(nanoseconds, Duration::max().count())));
}

}  // namespace

SimClock::SimClock(const SimTime& world, Duration offset, std::int32_t drift_ppm)
    : world_(world), drift_ppm_(drift_ppm), base_world_(world.now()), base_local_{offset} {}

WallTime SimClock::wall_now() const {
  const Duration passed = world_.now().since_origin;
  return {wall_offset_ + std::chrono::duration_cast<std::chrono::milliseconds>(passed).count()};
}

void SimClock::set_drift(std::int32_t drift_ppm) {
  rebase(Duration::zero());
  drift_ppm_ = drift_ppm;
}

void SimClock::step(Duration by) {
  assert(by >= Duration::zero() && "a monotonic clock never goes back");
  rebase(by);
}

Instant SimClock::local_at(Instant world) const {
  const Wide passed = (world - base_world_).count();
  return base_local_ + narrow(passed + passed * drift_ppm_ / million);
}

Instant SimClock::world_at(Instant local) const {
  const Wide left = Wide{local.since_origin.count()} - base_local_.since_origin.count();
  const Wide passed = left * million / (million + drift_ppm_);
  const Wide guess = passed + base_world_.since_origin.count();
  const Instant now = world_.now();
  if (guess >= Duration::max().count()) return Instant::max();
  Instant world = std::max(now, Instant{narrow(guess)});
  // The divisions above have rounded.
  while (local_at(world) < local) world = world + Duration(1);
  while (world > now && local_at(world - Duration(1)) >= local) world = world - Duration(1);
  return world;
}

void SimClock::rebase(Duration step) {
  const Instant local = now() + step;
  base_world_ = world_.now();
  base_local_ = local;
}

}  // namespace spotmesh::testing
