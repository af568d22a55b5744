// The binary form of STREAM: frames and the framing over TCP. What is accepted is written in one
// way, comes out the same however it is cut, and costs no more than what has come.
#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.hpp"
#include "fuzz/fuzz.hpp"
#include "wire/length_prefix.hpp"
#include "wire/packet_catalog.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_handshake.hpp"
#include "zoo.packets.hpp"

namespace spotmesh::fuzz {
namespace {

using namespace wire;

constexpr std::size_t longest_frame = 1000;

void check_refusal(const Error& error) {
  require(error.kind() == ErrorKind::ProtocolError, "a refusal is a ProtocolError");
  require(is_valid_utf8(error.message()), "a refusal can be the reason of a close");
}

void check_hello(ByteView body) {
  const auto hello = read_stream_hello(body);
  if (!hello) return check_refusal(hello.error());
  const auto again = read_stream_hello(write_stream_hello(*hello));
  require(again.has_value() && again->version == hello->version &&
              again->message_bytes == hello->message_bytes && again->resume == hello->resume,
          "a Hello survives being written");
  require(again->types == hello->types, "the fingerprint survives being written");
  static const PacketCatalog catalog = [] {
    PacketCatalog zoo;
    zoo.add(zoo::packets());
    return zoo;
  }();
  if (const auto fits = catalog.prints().check(hello->types); !fits) {
    require(fits.error().kind() == ErrorKind::ProtocolError, "a misfit is a ProtocolError");
  }
}

void check_welcome(ByteView body) {
  const auto welcome = read_stream_welcome(body);
  if (!welcome) return check_refusal(welcome.error());
  const auto again = read_stream_welcome(write_stream_welcome(*welcome));
  require(again.has_value() && again->session == welcome->session &&
              again->resume == welcome->resume && again->heartbeat_ms == welcome->heartbeat_ms,
          "a Welcome survives being written");
}

void check_frame(ByteView bytes, BinarySender sender, BinaryCarrier carrier) {
  const auto frame = parse_binary_frame(bytes, sender, carrier);
  if (!frame) return check_refusal(frame.error());
  Bytes again;
  append_binary_frame(again, *frame);
  require(std::ranges::equal(again, bytes), "a frame is written in one way");
  if (frame->kind == BinaryKind::Hello) check_hello(frame->body);
  if (frame->kind == BinaryKind::Welcome) check_welcome(frame->body);
  if (frame->kind == BinaryKind::ErrorReply) {
    require(write_binary_error_reply(frame->seq, error_of(*frame)) == again,
            "an error reply survives being written");
  }
  if (frame->kind == BinaryKind::Close) {
    require(write_binary_close(close_of(*frame)) == again, "a close survives being written");
  }
}

struct Taken {
  std::vector<std::string> frames;
  std::string refusal;
  friend bool operator==(const Taken&, const Taken&) = default;
};

Taken take_apart(ByteView bytes, std::size_t piece_bytes) {
  LengthPrefixDecoder decoder(
      {.min_frame_bytes = binary_header_bytes, .max_frame_bytes = longest_frame});
  Taken taken;
  while (!bytes.empty()) {
    const ByteView piece = bytes.first(std::min(piece_bytes, bytes.size()));
    bytes = bytes.subspan(piece.size());
    const Bytes own(piece.begin(), piece.end());
    ByteView input = own;
    for (auto event = decoder.next(input);
         event.kind != LengthPrefixDecoder::Event::Kind::NeedMoreBytes;
         event = decoder.next(input)) {
      if (event.kind == LengthPrefixDecoder::Event::Kind::Failed) {
        taken.refusal = event.close.reason;
        continue;
      }
      require(event.frame.size() >= binary_header_bytes && event.frame.size() <= longest_frame,
              "a frame is within its bounds");
      taken.frames.emplace_back(as_text(event.frame));
      check_frame(event.frame, BinarySender::Client, BinaryCarrier::Tcp);
    }
    require(input.empty(), "all input is taken");
    require(decoder.buffered_capacity_bytes() <= 2 * longest_frame + 64,
            "no more is held than a frame");
  }
  return taken;
}

}  // namespace

void run(ByteView bytes) {
  Input input(bytes);
  const auto choice = input.take_byte();
  const Bytes rest = input.rest();
  if (choice % 8 < 4) {
    return check_frame(rest, choice % 2 == 0 ? BinarySender::Client : BinarySender::Server,
                       choice % 4 < 2 ? BinaryCarrier::WebSocket : BinaryCarrier::Tcp);
  }
  if (choice % 8 == 4) return check_hello(rest);
  if (choice % 8 == 5) return check_welcome(rest);
  const Taken whole = take_apart(rest, rest.size() + 1);
  require(take_apart(rest, 1) == whole, "frames are the same however they are cut");
  require(take_apart(rest, 1 + choice / 8) == whole, "frames are the same however they are cut");
}

}  // namespace spotmesh::fuzz
