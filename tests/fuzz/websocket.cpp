// The WebSocket decoder: the same bytes give the same events however they are cut, memory stays
// bounded, and what was read can be written again.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "wire/websocket_decoder.hpp"

namespace spotmesh::fuzz {
namespace {

using wire::WebSocketDecoder;
using wire::WebSocketEvent;
using wire::WebSocketRole;
using Kind = WebSocketEvent::Kind;

struct Seen {
  Kind kind;
  Bytes payload;
  wire::CloseCode code;
  std::string reason;
  friend bool operator==(const Seen&, const Seen&) = default;
};

struct Outcome {
  std::vector<Seen> events;
  bool has_partial_message = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void feed(WebSocketDecoder& decoder, ByteView bytes, Outcome& outcome) {
  while (!bytes.empty()) {
    const std::size_t before = bytes.size();
    const auto event = decoder.next(bytes);
    if (event.kind == Kind::NeedMoreBytes) {
      require(bytes.empty(), "a decoder that wants more has used up its input");
      return;
    }
    require(bytes.size() < before, "an event uses up some input");
    outcome.events.push_back({event.kind,
                              {event.payload.begin(), event.payload.end()},
                              event.close.code,
                              event.close.reason});
  }
}

// Pieces of 1 to 8 bytes, or all at once.
Outcome decode(const wire::WebSocketDecoderOptions& options, ByteView bytes, bool is_cut) {
  WebSocketDecoder decoder(options);
  Outcome outcome;
  std::size_t step = 0;
  while (!bytes.empty()) {
    const std::size_t size = is_cut ? std::min(bytes.size(), 1 + step++ % 8) : bytes.size();
    feed(decoder, bytes.first(size), outcome);
    bytes = bytes.subspan(size);
    require(decoder.buffered_capacity_bytes() <= 2 * options.max_message_bytes + 1024,
            "a decoder holds no more than its longest message");
  }
  outcome.has_partial_message = decoder.has_partial_message();
  return outcome;
}

wire::WebSocketOpcode opcode_of(Kind kind) {
  switch (kind) {
    case Kind::Text:
      return wire::WebSocketOpcode::Text;
    case Kind::Binary:
      return wire::WebSocketOpcode::Binary;
    case Kind::Ping:
      return wire::WebSocketOpcode::Ping;
    default:
      return wire::WebSocketOpcode::Pong;
  }
}

void check_events(const wire::WebSocketDecoderOptions& options, const Outcome& outcome) {
  Bytes written;
  const auto mask = options.role == WebSocketRole::Server
                        ? std::optional(wire::MaskKey{std::byte{1}, std::byte{0xff}})
                        : std::nullopt;
  for (std::size_t i = 0; i < outcome.events.size(); ++i) {
    const Seen& seen = outcome.events[i];
    if (seen.kind == Kind::Close) {
      wire::append_close_frame(written, seen.code, seen.reason, mask);
    } else if (seen.kind != Kind::Failed) {
      require(seen.payload.size() <= options.max_message_bytes ||
                  seen.payload.size() <= wire::max_control_payload_bytes,
              "a message is within its limit");
      wire::append_frame(written, opcode_of(seen.kind), seen.payload, mask);
    } else {
      Bytes close;
      wire::append_close_frame(close, seen.code, seen.reason);
      require(close.size() > 2, "a failure is told with a code");
    }
    const bool is_end = seen.kind == Kind::Close || seen.kind == Kind::Failed;
    require(!is_end || i + 1 == outcome.events.size(), "nothing follows the end");
  }
  auto expected = outcome.events;
  if (!expected.empty() && expected.back().kind == Kind::Failed) expected.pop_back();
  require(decode(options, written, false).events == expected, "events survive being written");
}

}  // namespace

void run(ByteView bytes) {
  Input input(bytes);
  const auto choice = input.take_byte();
  const wire::WebSocketDecoderOptions options{
      .role = (choice & 1) != 0 ? WebSocketRole::Client : WebSocketRole::Server,
      .max_message_bytes = (choice & 2) != 0 ? 512U : 64U * 1024U,
      .max_message_fragments = (choice & 4) != 0 ? 4U : 1024U};
  const Bytes stream = input.rest();
  const auto whole = decode(options, stream, false);
  require(whole == decode(options, stream, true), "the same bytes give the same events");
  check_events(options, whole);
}

}  // namespace spotmesh::fuzz
