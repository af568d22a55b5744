// The frames between nodes: what is written is read, and nothing else is.
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include <spotmesh/limits.hpp>

#include "wire/mesh_frame.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;

namespace {

template <std::size_t size>
std::array<std::byte, size> counted(std::uint8_t first) {
  std::array<std::byte, size> bytes{};
  for (std::size_t i = 0; i < size; ++i) bytes[i] = std::byte(first + i);
  return bytes;
}

const MeshRun run_a{NodeRid{"a-1"}, LifecycleId{1, 2}};
const MeshRun run_b{NodeRid{"b-1"}, LifecycleId{3, 4}};
const MeshPositions some_positions = {1, std::uint64_t{1} << 40, 0};

MeshHello some_hello() {
  return {.version = mesh_protocol_version,
          .cluster = "köln",
          .dialler = run_a,
          .listener = run_b,
          .nonce = counted<16>(7)};
}

// One of each kind.
std::vector<Bytes> some_frames() {
  return {encode(some_hello()),
          encode(MeshChallenge{run_b, counted<16>(9), counted<32>(90)}),
          encode(MeshResponse{5, 6, some_positions, counted<32>(60)}),
          encode(MeshWelcome{some_positions}),
          encode(MeshRefusal{MeshRefusalReason::Cluster, "another cluster"}),
          encode(MeshData{2, false, 77, as_bytes("a piece")}),
          encode(MeshAcknowledgement{some_positions}),
          encode(MeshFarewell{"over"})};
}

bool is_read(ByteView bytes) { return decode_mesh_frame(bytes).has_value(); }

template <typename Frame>
void check_survives(const Frame& frame) {
  const Bytes bytes = encode(frame);
  const auto read = decode_mesh_frame(bytes);
  REQUIRE(read.has_value());
  REQUIRE(std::holds_alternative<Frame>(*read));
  CHECK(std::get<Frame>(*read) == frame);
}

}  // namespace

TEST_CASE("each mesh frame survives being written") {
  check_survives(some_hello());
  check_survives(MeshChallenge{run_b, counted<16>(9), counted<32>(90)});
  check_survives(MeshResponse{5, 6, some_positions, counted<32>(60)});
  check_survives(MeshWelcome{some_positions});
  check_survives(MeshRefusal{MeshRefusalReason::Positions, ""});
  check_survives(MeshAcknowledgement{some_positions});
  check_survives(MeshFarewell{"over"});
}

TEST_CASE("a piece of a message survives with its number, up to the longest") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, limits::mesh_piece_bytes}) {
    for (const bool is_last : {false, true}) {
      const Bytes content(size, std::byte{0x5a});
      const Bytes bytes = encode(MeshData{1, is_last, ~std::uint64_t{0}, content});
      const auto read = decode_mesh_frame(bytes);
      REQUIRE(read.has_value());
      const auto* data = std::get_if<MeshData>(&*read);
      REQUIRE(data != nullptr);
      CHECK(data->lane == 1);
      CHECK(data->is_last == is_last);
      CHECK(data->sequence == ~std::uint64_t{0});
      CHECK(as_text(data->bytes) == as_text(content));
    }
  }
}

TEST_CASE("a piece that is too long, of no lane or without a number is refused") {
  Bytes bytes = encode(MeshData{2, true, 1, Bytes(limits::mesh_piece_bytes)});
  bytes.push_back(std::byte{0});
  CHECK_FALSE(is_read(bytes));
  Bytes lane = encode(MeshData{2, true, 1, as_bytes("x")});
  lane[1] = std::byte{0x83};
  CHECK_FALSE(is_read(lane));
  Bytes unnumbered = encode(MeshData{2, true, 256, as_bytes("x")});
  unnumbered[3] = std::byte{0};
  CHECK_FALSE(is_read(unnumbered));
}

TEST_CASE("no mesh frame is read that was cut short or is too long", "[MESH-05]") {
  for (const Bytes& frame : some_frames()) {
    const auto kind = std::to_integer<int>(frame[0]);
    INFO("kind " << kind);
    const bool has_free_length = kind >= 5 && kind != 7;
    for (std::size_t size = 0; size < frame.size(); ++size) {
      // Texts and pieces end where their frame ends.
      if (has_free_length && size >= (kind == 6 ? 10U : kind == 5 ? 2U : 1U)) continue;
      CHECK_FALSE(is_read(ByteView(frame).first(size)));
    }
    if (has_free_length) continue;
    Bytes longer = frame;
    longer.push_back(std::byte{0});
    CHECK_FALSE(is_read(longer));
  }
}

TEST_CASE("a mesh frame with any one byte changed is refused, or reads as what it then says") {
  for (const Bytes& frame : some_frames()) {
    for (std::size_t at = 0; at < frame.size(); ++at) {
      for (int change = 1; change < 256; ++change) {
        Bytes changed = frame;
        changed[at] ^= std::byte(change);
        const auto read = decode_mesh_frame(changed);
        if (!read) {
          CHECK(read.error().kind() == ErrorKind::ProtocolError);
          continue;
        }
        const auto* hello = std::get_if<MeshHello>(&*read);
        // Of a Hello of another version, and of a reason that is not known, not all is read.
        const bool is_foreign_hello = hello != nullptr && hello->version != mesh_protocol_version;
        const bool is_unknown_reason =
            std::holds_alternative<MeshRefusal>(*read) && std::to_integer<int>(changed[1]) > 10;
        if (is_foreign_hello || is_unknown_reason) continue;
        const auto again = std::visit([](const auto& each) { return encode(each); }, *read);
        if (again != changed) FAIL_CHECK("byte " << at << " was read as another");
      }
    }
  }
}

TEST_CASE("of a Hello of another version only the version is read", "[MESH-05]") {
  Bytes bytes = encode(some_hello());
  bytes[9] = std::byte{2};
  bytes.resize(20);
  const auto read = decode_mesh_frame(bytes);
  REQUIRE(read.has_value());
  CHECK(std::get<MeshHello>(*read).version == 2);
  CHECK(std::get<MeshHello>(*read).cluster.empty());
}

TEST_CASE("reasons are shortened to whole characters, and never sent as what is not UTF-8") {
  std::string text(511, 'x');
  text += "ö and more";
  const Bytes shortened = encode(MeshFarewell{text});
  const auto read = decode_mesh_frame(shortened);
  REQUIRE(read.has_value());
  CHECK(std::get<MeshFarewell>(*read).text == std::string(511, 'x'));
  const Bytes broken = encode(MeshRefusal{MeshRefusalReason::Malformed, "\xff"});
  CHECK(is_read(broken));
}

TEST_CASE("a refusal for a reason of a later version is read as a refusal") {
  Bytes bytes = encode(MeshRefusal{MeshRefusalReason::Secret, "why"});
  bytes[1] = std::byte{200};
  const auto read = decode_mesh_frame(bytes);
  REQUIRE(read.has_value());
  CHECK(std::get<MeshRefusal>(*read).reason == MeshRefusalReason::Malformed);
  CHECK(std::get<MeshRefusal>(*read).text == "why");
}

TEST_CASE("what is no frame between nodes says so") {
  CHECK_FALSE(is_read({}));
  CHECK_FALSE(is_read(as_bytes("GET / HTTP/1.1\r\n\r\n")));
  CHECK_FALSE(is_read(as_bytes("\x01SpotmeSH\x01")));
}
