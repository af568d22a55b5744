// The Faults of a simulated run: named defects that a test switches on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runtime/faults.hpp"
#include "testing/sim_random.hpp"

namespace spotmesh::testing {

class SimFaults final : public runtime::Faults {
 public:
  explicit SimFaults(std::uint64_t seed) : seed_(seed) {}

  // From now on `point` strikes with this chance; 1000 is always, 0 never.
  void set_chance(std::string_view point, unsigned per_mille) { at(point).per_mille = per_mille; }
  // The next `times` calls strike.
  void strike_next(std::string_view point, unsigned times = 1) { at(point).sure_strikes += times; }
  // How often `point` has struck, so that a test can tell that its fault was reached at all.
  std::uint64_t strikes_of(std::string_view point) { return at(point).strikes; }

  bool strikes(std::string_view point) override {
    const auto found = points_.find(point);
    if (found == points_.end()) return false;
    Point& at = found->second;
    if (at.sure_strikes > 0) {
      --at.sure_strikes;
    } else if (!at.random.chance(at.per_mille)) {
      return false;
    }
    ++at.strikes;
    return true;
  }

 private:
  struct Point {
    SimRandom random;
    unsigned per_mille = 0;
    unsigned sure_strikes = 0;
    std::uint64_t strikes = 0;
  };

  Point& at(std::string_view point) {
    const auto found = points_.find(point);
    if (found != points_.end()) return found->second;
    return points_.emplace(point, Point{.random = SimRandom(seed_, point)}).first->second;
  }

  std::uint64_t seed_;
  std::map<std::string, Point, std::less<>> points_;
};

}  // namespace spotmesh::testing
