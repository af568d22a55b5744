#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/utf8.hpp"
#include "wire/mesh_frame.hpp"
#include "wire/mesh_frame_kinds.hpp"

namespace spotmesh::wire {
namespace {

// Takes a frame apart from its front. After the first read that finds too little, or something
// that cannot be, all others give nothing of meaning.
class Reader {
 public:
  explicit Reader(ByteView bytes) : rest_(bytes) {}

  std::uint8_t byte() { return static_cast<std::uint8_t>(little_endian(1)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(little_endian(2)); }
  std::uint64_t u64() { return little_endian(8); }
  ByteView bytes(std::size_t size) {
    if (size > rest_.size()) {
      is_sound_ = false;
      size = 0;
    }
    const ByteView taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  ByteView all() { return bytes(rest_.size()); }
  std::size_t remaining() const { return rest_.size(); }

  template <std::size_t size>
  void into(std::array<std::byte, size>& array) {
    const ByteView taken = bytes(size);
    std::ranges::copy(taken, array.begin());
  }
  std::string short_text() {
    const auto text = as_text(bytes(byte()));
    if (text.empty() || !is_valid_utf8(text)) is_sound_ = false;
    return std::string(text);
  }
  std::string all_text() {
    if (rest_.size() > mesh_text_bytes) is_sound_ = false;
    const auto text = as_text(all());
    if (!is_valid_utf8(text)) is_sound_ = false;
    return is_sound_ ? std::string(text) : std::string();
  }
  MeshRun run() {
    MeshRun run;
    run.lifecycle.high = u64();
    run.lifecycle.low = u64();
    if (run.lifecycle.is_none()) is_sound_ = false;
    run.node.text = short_text();
    return run;
  }
  MeshPositions positions() {
    MeshPositions positions{};
    for (std::uint64_t& position : positions) position = u64();
    return positions;
  }

  // Whether all reads found what they wanted and nothing is left.
  bool is_finished() const { return is_sound_ && rest_.empty(); }
  bool is_sound() const { return is_sound_; }

 private:
  std::uint64_t little_endian(std::size_t size) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const std::byte byte : bytes(size)) {
      value |= std::to_integer<std::uint64_t>(byte) << shift;
      shift += 8;
    }
    return value;
  }

  ByteView rest_;
  bool is_sound_ = true;
};

template <typename Frame>
Result<MeshFrame> finished(const Reader& reader, std::string_view what, Frame frame) {
  if (reader.is_finished()) return MeshFrame(std::move(frame));
  return fail(Error::protocol_error(fmt::format("a mesh frame is no sound {}", what)));
}

Result<MeshFrame> decode_hello(Reader reader) {
  MeshHello hello;
  if (as_text(reader.bytes(mesh_hello_magic.size())) != mesh_hello_magic) {
    return fail(Error::protocol_error("the connection does not begin as one between nodes does"));
  }
  hello.version = reader.u16();
  if (reader.is_sound() && hello.version != mesh_protocol_version) return MeshFrame(hello);
  hello.cluster = reader.short_text();
  hello.dialler = reader.run();
  hello.listener = reader.run();
  reader.into(hello.nonce);
  return finished(reader, "Hello", std::move(hello));
}

Result<MeshFrame> decode_challenge(Reader reader) {
  MeshChallenge challenge;
  challenge.listener = reader.run();
  reader.into(challenge.nonce);
  reader.into(challenge.proof);
  return finished(reader, "Challenge", std::move(challenge));
}

Result<MeshFrame> decode_response(Reader reader) {
  MeshResponse response;
  response.dial = reader.u64();
  response.adopted = reader.u64();
  response.received = reader.positions();
  reader.into(response.proof);
  return finished(reader, "Response", response);
}

Result<MeshFrame> decode_refusal(Reader reader) {
  const std::uint8_t reason = reader.byte();
  MeshRefusal refusal{.reason = MeshRefusalReason::Malformed, .text = reader.all_text()};
  if (reason == 0) return fail(Error::protocol_error("a mesh frame refuses for no reason"));
  // A later version may know more reasons.
  if (reason <= mesh_refusal_reason_count) refusal.reason = MeshRefusalReason(reason);
  return finished(reader, "Refusal", std::move(refusal));
}

Result<MeshFrame> decode_data(Reader reader) {
  const std::uint8_t head = reader.byte();
  MeshData data;
  data.lane = head & ~mesh_last_piece_bit;
  data.is_last = (head & mesh_last_piece_bit) != 0;
  data.sequence = reader.u64();
  const bool is_fitting = data.lane < mesh_lanes && data.sequence != 0 &&
                          reader.remaining() <= limits::mesh_piece_bytes;
  if (!is_fitting) return fail(Error::protocol_error("a mesh frame is no sound Data"));
  data.bytes = reader.all();
  return finished(reader, "Data", data);
}

}  // namespace

Result<MeshFrame> decode_mesh_frame(ByteView frame) {
  Reader reader(frame);
  const std::uint8_t kind = reader.byte();
  switch (static_cast<MeshFrameKind>(kind)) {
    case MeshFrameKind::Hello:
      return decode_hello(reader);
    case MeshFrameKind::Challenge:
      return decode_challenge(reader);
    case MeshFrameKind::Response:
      return decode_response(reader);
    case MeshFrameKind::Welcome: {
      const MeshWelcome welcome{.received = reader.positions()};
      return finished(reader, "Welcome", welcome);
    }
    case MeshFrameKind::Refusal:
      return decode_refusal(reader);
    case MeshFrameKind::Data:
      return decode_data(reader);
    case MeshFrameKind::Acknowledgement: {
      const MeshAcknowledgement acknowledgement{.received = reader.positions()};
      return finished(reader, "Acknowledgement", acknowledgement);
    }
    case MeshFrameKind::Farewell: {
      MeshFarewell farewell{.text = reader.all_text()};
      return finished(reader, "Farewell", std::move(farewell));
    }
  }
  return fail(Error::protocol_error(fmt::format("a mesh frame is of unknown kind {}", kind)));
}

}  // namespace spotmesh::wire
