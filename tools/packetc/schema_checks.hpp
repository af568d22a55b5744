// What FlatBuffers allows and Spotmesh does not.
#pragma once

#include "packetc/schema.hpp"

namespace spotmesh::packetc {

Checked<void> check_schema(const Schema& schema);

// Ids of all packets are distinct and none is 0.
Checked<void> check_packet_ids(const Schema& schema);

}  // namespace spotmesh::packetc
