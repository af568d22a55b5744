// What the machines of a mesh draw from their options and from chance.
#pragma once

#include <algorithm>
#include <cstdint>

#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "mesh/options.hpp"
#include "wire/mesh_frame.hpp"

namespace spotmesh::mesh {

// The pause after `failures` attempts that failed in a row (1 or more): doubling, with jitter on
// its upper half, so that those who failed together do not come back together.
inline Duration retry_pause(const MeshOptions& options, unsigned failures, Random& random) {
  const unsigned doublings = std::min(failures > 0 ? failures - 1 : 0, 20U);
  const Duration whole =
      std::min(Duration(options.first_retry.count() << doublings), options.last_retry);
  const auto half = static_cast<std::uint64_t>(whole.count() / 2);
  return Duration(static_cast<Duration::rep>(half + random_below(random, half + 1)));
}

// Two heartbeats are missing, and what delays a third is not merely its way.
inline Duration silence_of_a_lost_link(const MeshOptions& options) {
  return options.heartbeat_interval * 5 / 2;
}

inline wire::MeshNonce new_nonce(Random& random) {
  wire::MeshNonce nonce{};
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < nonce.size(); ++i) {
    if (i % 8 == 0) bits = random.next_u64();
    nonce[i] = std::byte(bits >> (8 * (i % 8)) & 0xff);
  }
  return nonce;
}

}  // namespace spotmesh::mesh
