// The frames between nodes, version 1. framework/docs/mesh.md has their layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

namespace spotmesh::wire {

inline constexpr std::uint16_t mesh_protocol_version = 1;
inline constexpr std::size_t mesh_lanes = 3;
inline constexpr std::size_t mesh_text_bytes = 512;  // of a reason; longer ones are shortened

using MeshNonce = std::array<std::byte, 16>;
using MeshProof = std::array<std::byte, 32>;
// Per lane, the number of the last frame that was taken; 0: none.
using MeshPositions = std::array<std::uint64_t, mesh_lanes>;

// One run of a node. The RID has 1 to 255 bytes of UTF-8, the lifecycle is not 0.
struct MeshRun {
  NodeRid node;
  LifecycleId lifecycle;
  friend bool operator==(const MeshRun&, const MeshRun&) = default;
};

// The dialler's first frame. All that is known of one of another version is that version.
struct MeshHello {
  std::uint16_t version = mesh_protocol_version;
  std::string cluster;  // 1 to 255 bytes of UTF-8
  MeshRun dialler;
  MeshRun listener;  // whom it wants
  MeshNonce nonce{};
  friend bool operator==(const MeshHello&, const MeshHello&) = default;
};

// The listener's answer.
struct MeshChallenge {
  MeshRun listener;  // who really listens
  MeshNonce nonce{};
  MeshProof proof{};  // the last field, as in MeshResponse; see without_proof()
  friend bool operator==(const MeshChallenge&, const MeshChallenge&) = default;
};

struct MeshResponse {
  std::uint64_t dial = 0;     // counts the dialler's dials within the session
  std::uint64_t adopted = 0;  // the listener's last dial that the dialler has taken up; 0: none
  MeshPositions received{};
  MeshProof proof{};
  friend bool operator==(const MeshResponse&, const MeshResponse&) = default;
};

// The connection carries the session from here on.
struct MeshWelcome {
  MeshPositions received{};
  friend bool operator==(const MeshWelcome&, const MeshWelcome&) = default;
};

enum class MeshRefusalReason : std::uint8_t {
  Malformed = 1,  // bytes that are no frame, or one that does not belong here
  Version,
  Cluster,
  Secret,
  OtherRun,      // the wanted run does not listen here
  RunOver,       // the other's run, or the session with it, has ended for good
  Simultaneous,  // both have dialled, and the other connection is kept
  NoRoom,
  Stopping,
  Positions  // what was received does not fit what was sent
};
inline constexpr std::uint8_t mesh_refusal_reason_count = 10;
std::string_view to_string(MeshRefusalReason reason);

// Instead of any frame of the handshake, by either side; the same in all versions.
struct MeshRefusal {
  MeshRefusalReason reason = MeshRefusalReason::Malformed;
  std::string text;
  friend bool operator==(const MeshRefusal&, const MeshRefusal&) = default;
};

// A message of a lane, or a piece of one.
struct MeshData {
  std::uint8_t lane = 0;
  bool is_last = true;         // of its message
  std::uint64_t sequence = 0;  // from 1 on, without gaps, per lane and session
  ByteView bytes;              // up to limits::mesh_piece_bytes; of the frame it was decoded from
};

// Also the heartbeat.
struct MeshAcknowledgement {
  MeshPositions received{};
  friend bool operator==(const MeshAcknowledgement&, const MeshAcknowledgement&) = default;
};

// The session is over.
struct MeshFarewell {
  std::string text;
  friend bool operator==(const MeshFarewell&, const MeshFarewell&) = default;
};

using MeshFrame = std::variant<MeshHello, MeshChallenge, MeshResponse, MeshWelcome, MeshRefusal,
                               MeshData, MeshAcknowledgement, MeshFarewell>;

// What is encoded keeps the bounds above.
Bytes encode(const MeshHello& hello);
Bytes encode(const MeshChallenge& challenge);
Bytes encode(const MeshResponse& response);
Bytes encode(const MeshWelcome& welcome);
Bytes encode(const MeshRefusal& refusal);
Bytes encode(const MeshData& data);
Bytes encode(const MeshAcknowledgement& acknowledgement);
Bytes encode(const MeshFarewell& farewell);

// ProtocolError, which says what is wrong, for all that encode() does not make.
Result<MeshFrame> decode_mesh_frame(ByteView frame);

// What the proof of an encoded MeshChallenge or MeshResponse vouches for.
ByteView without_proof(ByteView frame);

}  // namespace spotmesh::wire
