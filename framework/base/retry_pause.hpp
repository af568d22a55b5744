// Pauses between attempts of many who may have failed together.
#pragma once

#include <spotmesh/time.hpp>

#include "base/random.hpp"

namespace spotmesh {

// The pause after `failures` attempts that failed in a row (1 or more): `first`, doubled with each
// of them and at most `last`, with jitter on its upper half, so that those who failed together do
// not come back together.
Duration retry_pause(Random& random, unsigned failures, Duration first, Duration last);

}  // namespace spotmesh
