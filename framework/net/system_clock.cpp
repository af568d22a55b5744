#include "net/system_clock.hpp"

#include <ctime>

namespace spotmesh::net {

namespace {

Duration read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

Instant SystemClock::now() const { return {read_clock(CLOCK_BOOTTIME)}; }

WallTime SystemClock::wall_now() const {
  auto wall = read_clock(CLOCK_REALTIME);
  return {std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()};
}

}  // namespace spotmesh::net
