// Secret: what the nodes of a cluster share, and how they show that they know it.
#pragma once

#include <cstdint>
#include <string>

#include <spotmesh/bytes.hpp>

#include "wire/mesh_frame.hpp"

namespace spotmesh::mesh {

// The side of a handshake that gives a proof: a proof of one side is none of the other, so nobody
// can answer with what he was sent.
enum class HandshakeSide : std::uint8_t { Dialler, Listener };

class Secret {
 public:
  // At least one byte.
  explicit Secret(std::string text);

  // HMAC-SHA-256 of the side and all that was said up to the proof: `hello` is a whole frame,
  // `challenge` and `response` are frames without their proofs. The listener has no response.
  wire::MeshProof prove(HandshakeSide side, ByteView hello, ByteView challenge,
                        ByteView response = {}) const;
  // Takes equally long, whatever the difference.
  static bool is_same(const wire::MeshProof& a, const wire::MeshProof& b);

 private:
  std::string text_;
};

}  // namespace spotmesh::mesh
