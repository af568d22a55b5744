// RequestSeq: what ties a reply to its request on one client connection.
#pragma once

#include <cstdint>

namespace spotmesh::wire {

// Chosen by the client, 1..2^32-1. 0: a one-way packet.
struct RequestSeq {
  std::uint32_t value = 0;
  bool is_one_way() const { return value == 0; }
  friend bool operator==(const RequestSeq&, const RequestSeq&) = default;
};

}  // namespace spotmesh::wire
