#include "websocket_test_frames.hpp"

#include <algorithm>

namespace spotmesh::wire::test {
namespace {

unsigned digit_value(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

std::string line_of(const WebSocketEvent& event) {
  const std::string payload(as_text(event.payload));
  const std::string close =
      std::to_string(static_cast<unsigned>(event.close.code)) + " " + event.close.reason;
  switch (event.kind) {
    case WebSocketEvent::Kind::NeedMoreBytes:
      return "need more bytes";
    case WebSocketEvent::Kind::Text:
      return "text " + payload;
    case WebSocketEvent::Kind::Binary:
      return "binary " + payload;
    case WebSocketEvent::Kind::Ping:
      return "ping " + payload;
    case WebSocketEvent::Kind::Pong:
      return "pong " + payload;
    case WebSocketEvent::Kind::Close:
      return "close " + close;
    case WebSocketEvent::Kind::Failed:
      return "failed " + close;
  }
  return "unknown event";
}

// Copies the piece to memory of its own size, so that a sanitizer sees a read beyond its end.
void feed(WebSocketDecoder& decoder, ByteView piece, Transcript& lines) {
  const Bytes copy(piece.begin(), piece.end());
  ByteView input = copy;
  for (;;) {
    const WebSocketEvent event = decoder.next(input);
    if (event.kind == WebSocketEvent::Kind::NeedMoreBytes) return;
    lines.push_back(line_of(event));
  }
}

}  // namespace

Bytes hex(std::string_view digits) {
  Bytes bytes;
  std::string packed;
  std::copy_if(digits.begin(), digits.end(), std::back_inserter(packed),
               [](char c) { return c != ' '; });
  for (std::size_t i = 0; i + 1 < packed.size(); i += 2) {
    bytes.push_back(
        static_cast<std::byte>(digit_value(packed[i]) << 4 | digit_value(packed[i + 1])));
  }
  return bytes;
}

Bytes raw(const RawFrame& frame) {
  Bytes bytes{static_cast<std::byte>(frame.first_byte)};
  const std::size_t length = frame.payload.size();
  const unsigned mask_bit = frame.is_masked ? 0x80 : 0;
  const int length_bytes = length < 126 ? 0 : length < 65536 ? 2 : 8;
  const std::size_t code = length_bytes == 0 ? length : length_bytes == 2 ? 126 : 127;
  bytes.push_back(static_cast<std::byte>(mask_bit | code));
  for (int i = length_bytes - 1; i >= 0; --i) {
    bytes.push_back(static_cast<std::byte>(length >> (8 * i)));
  }
  if (frame.is_masked) bytes.insert(bytes.end(), frame.mask.begin(), frame.mask.end());
  for (std::size_t i = 0; i < length; ++i) {
    const auto plain = static_cast<std::byte>(frame.payload[i]);
    bytes.push_back(frame.is_masked ? plain ^ frame.mask[i % 4] : plain);
  }
  return bytes;
}

Bytes client(std::uint8_t first_byte, std::string payload) {
  return raw({.first_byte = first_byte, .payload = std::move(payload)});
}

Bytes server(std::uint8_t first_byte, std::string payload) {
  return raw({.first_byte = first_byte, .payload = std::move(payload), .is_masked = false});
}

Bytes join(const std::vector<Bytes>& pieces) {
  Bytes all;
  for (const Bytes& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

Transcript feed_whole(const WebSocketDecoderOptions& options, ByteView bytes) {
  WebSocketDecoder decoder(options);
  Transcript lines;
  feed(decoder, bytes, lines);
  return lines;
}

Transcript feed_in_bytes(const WebSocketDecoderOptions& options, ByteView bytes) {
  WebSocketDecoder decoder(options);
  Transcript lines;
  for (std::size_t i = 0; i < bytes.size(); ++i) feed(decoder, bytes.subspan(i, 1), lines);
  return lines;
}

Transcript feed_in_pieces(const WebSocketDecoderOptions& options, ByteView bytes,
                          std::mt19937_64& random) {
  WebSocketDecoder decoder(options);
  Transcript lines;
  while (!bytes.empty()) {
    const std::size_t longest = std::min<std::size_t>(bytes.size(), 1 + random() % 40);
    const std::size_t length = 1 + random() % longest;
    feed(decoder, bytes.first(length), lines);
    bytes = bytes.subspan(length);
  }
  return lines;
}

}  // namespace spotmesh::wire::test
