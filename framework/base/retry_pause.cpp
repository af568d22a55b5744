#include "base/retry_pause.hpp"

#include <algorithm>
#include <cstdint>

namespace spotmesh {

Duration retry_pause(Random& random, unsigned failures, Duration first, Duration last) {
  const unsigned doublings = std::min(failures > 0 ? failures - 1 : 0, 20U);
  const Duration whole = std::min(Duration(first.count() << doublings), last);
  const auto half = static_cast<std::uint64_t>(whole.count() / 2);
  return Duration(static_cast<Duration::rep>(half + random_below(random, half + 1)));
}

}  // namespace spotmesh
