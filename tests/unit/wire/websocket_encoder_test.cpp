#include "wire/websocket.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "base/utf8.hpp"
#include "websocket_test_frames.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;
using namespace spotmesh::wire::test;

namespace {

constexpr MaskKey key{std::byte{0x37}, std::byte{0xfa}, std::byte{0x21}, std::byte{0x3d}};

Bytes frame_of(WebSocketOpcode opcode, std::string_view payload,
               std::optional<MaskKey> mask = std::nullopt, bool is_final = true) {
  Bytes out;
  append_frame(out, opcode, as_bytes(payload), mask, is_final);
  return out;
}

Transcript decoded_close(CloseCode code, std::string_view reason) {
  Bytes out;
  append_close_frame(out, code, reason, key);
  return feed_whole({}, out);
}

}  // namespace

TEST_CASE("the examples of RFC 6455 section 5.7 are encoded as printed there") {
  CHECK(frame_of(WebSocketOpcode::Text, "Hello") == hex("81 05 48 65 6c 6c 6f"));
  CHECK(frame_of(WebSocketOpcode::Text, "Hello", key) == hex("81 85 37 fa 21 3d 7f 9f 4d 51 58"));
  CHECK(frame_of(WebSocketOpcode::Text, "Hel", std::nullopt, false) == hex("01 03 48 65 6c"));
  CHECK(frame_of(WebSocketOpcode::Continuation, "lo") == hex("80 02 6c 6f"));
  CHECK(frame_of(WebSocketOpcode::Ping, "Hello") == hex("89 05 48 65 6c 6c 6f"));
}

TEST_CASE("a frame's length is written in its shortest form") {
  for (const std::size_t length : {0, 1, 125, 126, 127, 65535, 65536, 100'000}) {
    const std::string payload(length, 'x');
    CHECK(frame_of(WebSocketOpcode::Binary, payload) == server(0x82, payload));
    CHECK(frame_of(WebSocketOpcode::Binary, payload, key) == client(0x82, payload));
  }
}

TEST_CASE("a frame is appended behind what is there") {
  Bytes out;
  append_frame(out, WebSocketOpcode::Text, as_bytes("a"));
  append_frame(out, WebSocketOpcode::Text, as_bytes("b"), key);
  CHECK(out == join({server(0x81, "a"), client(0x81, "b")}));
}

TEST_CASE("masking equals the byte by byte rule at every length and phase") {
  for (std::size_t length = 0; length < 40; ++length) {
    for (std::size_t offset = 0; offset < 9; ++offset) {
      Bytes data(length);
      for (std::size_t i = 0; i < length; ++i) data[i] = static_cast<std::byte>(i * 7);
      Bytes expected = data;
      for (std::size_t i = 0; i < length; ++i) expected[i] ^= key[(offset + i) % 4];
      apply_mask(data, key, offset);
      REQUIRE(data == expected);
    }
  }
}

TEST_CASE("a close frame is one that a decoder takes, whatever code and reason are given") {
  CHECK(decoded_close(CloseCode::Replaced, "logged in elsewhere") ==
        Transcript{"close 4003 logged in elsewhere"});
  CHECK(decoded_close(CloseCode::NoStatus, "dropped") == Transcript{"close 1005 "});
  CHECK(decoded_close(static_cast<CloseCode>(1006), "dropped") == Transcript{"close 1005 "});
  CHECK(decoded_close(CloseCode::Disconnected, "\xff") == Transcript{"close 4000 "});
  CHECK(decoded_close(CloseCode::Disconnected, std::string(200, 'x')) ==
        Transcript{"close 4000 " + std::string(123, 'x')});
}

TEST_CASE("a close reason is cut at the end of a character") {
  const std::string euro = "\xe2\x82\xac";
  for (std::size_t lead = 0; lead < 4; ++lead) {
    std::string reason(lead, 'x');
    while (reason.size() < 200) reason += euro;
    const Transcript lines = decoded_close(CloseCode::Disconnected, reason);
    REQUIRE(lines.size() == 1);
    const std::string text = lines[0].substr(std::string("close 4000 ").size());
    CHECK(lines[0].starts_with("close 4000 "));
    CHECK(is_valid_utf8(text));
    CHECK(text.size() > max_close_reason_bytes - euro.size());
    CHECK(reason.starts_with(text));
  }
}
