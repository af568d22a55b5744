// What encoding and decoding of mesh frames have in common.
#pragma once

#include <cstdint>
#include <string_view>

namespace spotmesh::wire {

// The first byte of each frame.
enum class MeshFrameKind : std::uint8_t {
  Hello = 1,
  Challenge,
  Response,
  Welcome,
  Refusal,
  Data,
  Acknowledgement,
  Farewell
};

// Follows the kind of a Hello, and tells a node from anything else that may dial a port.
inline constexpr std::string_view mesh_hello_magic = "Spotmesh";
// Beside the lane's number.
inline constexpr std::uint8_t mesh_last_piece_bit = 0x80;

}  // namespace spotmesh::wire
