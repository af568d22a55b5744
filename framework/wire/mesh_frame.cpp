#include "wire/mesh_frame.hpp"

#include <algorithm>
#include <cassert>

#include <spotmesh/limits.hpp>

#include "base/utf8.hpp"
#include "wire/mesh_frame_kinds.hpp"

namespace spotmesh::wire {
namespace {

class Writer {
 public:
  Writer(MeshFrameKind kind, std::size_t size) {
    bytes_.reserve(1 + size);
    put(static_cast<std::uint8_t>(kind));
  }

  Writer& put(std::uint8_t value) {
    bytes_.push_back(std::byte{value});
    return *this;
  }
  Writer& put(std::uint16_t value) { return put_little_endian(value, 2); }
  Writer& put(std::uint64_t value) { return put_little_endian(value, 8); }
  Writer& put(ByteView bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Writer& put_short_text(std::string_view text) {
    assert(!text.empty() && text.size() <= max_id_bytes);
    return put(static_cast<std::uint8_t>(text.size())).put(as_bytes(text));
  }
  Writer& put(const MeshRun& run) {
    return put(run.lifecycle.high).put(run.lifecycle.low).put_short_text(run.node.text);
  }
  Writer& put(const MeshPositions& positions) {
    for (const std::uint64_t position : positions) put(position);
    return *this;
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Writer& put_little_endian(std::uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) bytes_.push_back(std::byte(value >> (8 * i) & 0xff));
    return *this;
  }

  Bytes bytes_;
};

// The longest beginning of a text that is whole UTF-8 and not too long to be sent.
std::string_view shortened(std::string_view text) {
  if (text.size() <= mesh_text_bytes) return text;
  std::size_t end = mesh_text_bytes;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

// Reasons may quote what came from elsewhere.
std::string_view sendable(std::string_view text) {
  text = shortened(text);
  return is_valid_utf8(text) ? text : "(a reason that is not UTF-8)";
}

constexpr std::size_t positions_bytes = 8 * mesh_lanes;

}  // namespace

std::string_view to_string(MeshRefusalReason reason) {
  switch (reason) {
    case MeshRefusalReason::Malformed:
      return "malformed";
    case MeshRefusalReason::Version:
      return "another protocol version";
    case MeshRefusalReason::Cluster:
      return "another cluster";
    case MeshRefusalReason::Secret:
      return "another secret";
    case MeshRefusalReason::OtherRun:
      return "another run listens";
    case MeshRefusalReason::RunOver:
      return "run over";
    case MeshRefusalReason::Simultaneous:
      return "simultaneous dial";
    case MeshRefusalReason::NoRoom:
      return "no room";
    case MeshRefusalReason::Stopping:
      return "stopping";
    case MeshRefusalReason::Positions:
      return "positions do not fit";
  }
  return "unknown";
}

Bytes encode(const MeshHello& hello) {
  return Writer(MeshFrameKind::Hello, 600)
      .put(as_bytes(mesh_hello_magic))
      .put(hello.version)
      .put_short_text(hello.cluster)
      .put(hello.dialler)
      .put(hello.listener)
      .put(hello.nonce)
      .take();
}

Bytes encode(const MeshChallenge& challenge) {
  return Writer(MeshFrameKind::Challenge, 320)
      .put(challenge.listener)
      .put(challenge.nonce)
      .put(challenge.proof)
      .take();
}

Bytes encode(const MeshResponse& response) {
  return Writer(MeshFrameKind::Response, 16 + positions_bytes + response.proof.size())
      .put(response.dial)
      .put(response.adopted)
      .put(response.received)
      .put(response.proof)
      .take();
}

Bytes encode(const MeshWelcome& welcome) {
  return Writer(MeshFrameKind::Welcome, positions_bytes).put(welcome.received).take();
}

Bytes encode(const MeshRefusal& refusal) {
  const std::string_view text = sendable(refusal.text);
  return Writer(MeshFrameKind::Refusal, 1 + text.size())
      .put(static_cast<std::uint8_t>(refusal.reason))
      .put(as_bytes(text))
      .take();
}

Bytes encode(const MeshData& data) {
  assert(data.lane < mesh_lanes && data.bytes.size() <= limits::mesh_piece_bytes);
  return Writer(MeshFrameKind::Data, 9 + data.bytes.size())
      .put(static_cast<std::uint8_t>(data.lane | (data.is_last ? mesh_last_piece_bit : 0)))
      .put(data.sequence)
      .put(data.bytes)
      .take();
}

Bytes encode(const MeshAcknowledgement& acknowledgement) {
  return Writer(MeshFrameKind::Acknowledgement, positions_bytes)
      .put(acknowledgement.received)
      .take();
}

Bytes encode(const MeshFarewell& farewell) {
  const std::string_view text = sendable(farewell.text);
  return Writer(MeshFrameKind::Farewell, text.size()).put(as_bytes(text)).take();
}

ByteView without_proof(ByteView frame) {
  return frame.first(frame.size() - std::min(frame.size(), sizeof(MeshProof)));
}

}  // namespace spotmesh::wire
