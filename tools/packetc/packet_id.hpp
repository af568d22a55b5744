// The id of a packet on the binary wire.
#pragma once

#include <cstdint>
#include <string_view>

namespace spotmesh::packetc {

// The first four bytes of SHA-256 of the packet's full name, big-endian.
std::uint32_t packet_id(std::string_view full_name);

}  // namespace spotmesh::packetc
