// Mesh frames, and the machines that read them from a stranger: whatever arrives, it is a sound
// frame or refused, and no stranger comes further than his proof.
#include <algorithm>
#include <spotmesh/bytes.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "fuzz/fuzz.hpp"
#include "mesh/handshake.hpp"
#include "mesh/lanes.hpp"
#include "wire/mesh_frame.hpp"

namespace spotmesh::fuzz {
namespace {

using namespace wire;

void check_frame(ByteView bytes) {
  const auto frame = decode_mesh_frame(bytes);
  if (!frame) {
    require(frame.error().kind() == ErrorKind::ProtocolError, "a refusal is ProtocolError");
    return;
  }
  const auto* hello = std::get_if<MeshHello>(&*frame);
  if (hello != nullptr && hello->version != mesh_protocol_version) return;
  if (const auto* refusal = std::get_if<MeshRefusal>(&*frame)) {
    require(is_valid_utf8(refusal->text), "a reason can be shown");
    return;
  }
  const Bytes again = std::visit([](const auto& each) { return encode(each); }, *frame);
  require(as_text(again) == as_text(bytes), "a frame is written in one way");
}

// Frames of a stranger, each behind its length.
std::vector<Bytes> frames_in(Input& input) {
  const Bytes all = input.rest();
  ByteView rest = all;
  std::vector<Bytes> frames;
  while (rest.size() > 1) {
    const std::size_t size =
        std::min<std::size_t>(rest.size() - 1, std::to_integer<std::size_t>(rest.front()));
    const ByteView frame = rest.subspan(1, size);
    frames.emplace_back(frame.begin(), frame.end());
    rest = rest.subspan(1 + size);
  }
  return frames;
}

void check_actions(const mesh::handshake::Actions& actions) {
  for (const auto& action : actions) {
    require(!std::holds_alternative<mesh::handshake::Proven>(action), "nobody guesses a proof");
    require(!std::holds_alternative<mesh::handshake::Welcomed>(action), "nobody guesses a proof");
    if (const auto* say = std::get_if<mesh::handshake::Say>(&action)) {
      require(decode_mesh_frame(say->frame.view()).has_value(), "what is said can be read");
    }
  }
}

void check_handshakes(const std::vector<Bytes>& frames) {
  const mesh::Credentials credentials{
      {NodeRid{"a"}, LifecycleId{1, 1}}, "fuzzed", mesh::Secret("of nobody here")};
  mesh::AcceptHandshake listener(credentials, MeshNonce{});
  mesh::DialHandshake dialler(credentials, {NodeRid{"b"}, LifecycleId{2, 2}}, {}, MeshNonce{});
  dialler.on_connected();
  for (const Bytes& frame : frames) {
    check_actions(listener.on_frame(frame));
    check_actions(dialler.on_frame(frame));
  }
}

void check_lanes(const std::vector<Bytes>& frames) {
  mesh::ReceiveLane lane;
  std::uint64_t last = 0;
  for (const Bytes& bytes : frames) {
    const auto frame = decode_mesh_frame(bytes);
    const auto* data = frame ? std::get_if<MeshData>(&*frame) : nullptr;
    if (data == nullptr) continue;
    const auto taken = lane.take(*data, nullptr);
    require(lane.received() == last || (taken && lane.received() == last + 1),
            "one frame at a time is taken");
    last = lane.received();
  }
}

}  // namespace

void run(ByteView bytes) {
  Input input(bytes);
  const auto choice = input.take_byte();
  if (choice % 2 == 0) {
    const Bytes frame = input.rest();
    return check_frame(frame);
  }
  const auto frames = frames_in(input);
  check_handshakes(frames);
  check_lanes(frames);
}

}  // namespace spotmesh::fuzz
