#include "base/backoff.hpp"

#include <cassert>

namespace spotmesh {

Backoff::Backoff(Waits waits) : waits_(waits), upcoming_(waits.first) {
  assert(waits.first > Duration::zero());
  assert(waits.first <= waits.longest);
}

Duration Backoff::next() {
  const Duration wait = upcoming_;
  // Compared before doubling, so that a longest wait near the end of the range cannot overflow.
  upcoming_ = wait > waits_.longest / 2 ? waits_.longest : wait * 2;
  return wait;
}

}  // namespace spotmesh
