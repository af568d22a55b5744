// What the machines of a mesh draw from their options and from chance.
#pragma once

#include <cstdint>

#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "mesh/options.hpp"
#include "wire/mesh_frame.hpp"

namespace spotmesh::mesh {

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
