// Delivery: what a client that does not keep up may miss of a packet, as its schema says.
#pragma once

#include <cstdint>

namespace spotmesh::wire {

// The attributes `delivery` and `drop_after_ms` of the packet's table.
struct Delivery {
  bool only_latest = false;         // a newer one of the packet takes its place
  std::uint32_t drop_after_ms = 0;  // not worth sending after that; 0: always
  bool is_reliable() const { return !only_latest && drop_after_ms == 0; }
};

}  // namespace spotmesh::wire
