#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "websocket_test_frames.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;
using namespace spotmesh::wire::test;

namespace {

constexpr WebSocketDecoderOptions small{.max_message_bytes = 300, .max_message_fragments = 8};

std::string random_text(std::mt19937_64& random, std::size_t length) {
  std::string text;
  while (text.size() < length) text += random() % 4 == 0 ? "\xc3\xa9" : "e";
  return text;
}

// A run of frames that are mostly sound.
Bytes random_frames(std::mt19937_64& random) {
  static constexpr std::uint8_t first_bytes[] = {0x81, 0x82, 0x01, 0x02, 0x00, 0x80, 0x89, 0x8a};
  Bytes bytes;
  const std::size_t count = 1 + random() % 12;
  for (std::size_t i = 0; i < count; ++i) {
    const Bytes frame =
        client(first_bytes[random() % 8], random_text(random, random() % (i % 5 == 4 ? 200 : 40)));
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  return bytes;
}

void flip_some(Bytes& bytes, std::mt19937_64& random) {
  for (std::size_t flips = random() % 4; flips > 0; --flips) {
    bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << random() % 8);
  }
}

void check_equal_however_cut(const Bytes& bytes, std::mt19937_64& random) {
  const Transcript whole = feed_whole(small, bytes);
  REQUIRE(feed_in_bytes(small, bytes) == whole);
  REQUIRE(feed_in_pieces(small, bytes, random) == whole);
}

}  // namespace

TEST_CASE("damaged frames are decoded or refused the same however they are cut") {
  std::mt19937_64 random(6455);
  for (int round = 0; round < 4000; ++round) {
    INFO("round " << round);
    Bytes bytes = random_frames(random);
    flip_some(bytes, random);
    check_equal_however_cut(bytes, random);
  }
}

TEST_CASE("random bytes are decoded or refused the same however they are cut") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 4000; ++round) {
    INFO("round " << round);
    Bytes bytes(1 + random() % 600);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    if (round % 2 == 0) {  // a header that is taken, so that random bytes reach what lies behind it
      bytes[0] = static_cast<std::byte>(0x81 + random() % 2);
      if (bytes.size() > 1) bytes[1] |= std::byte{0x80};
    }
    check_equal_however_cut(bytes, random);
  }
}

TEST_CASE("what a decoder holds stays within twice the limit of a message") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 500; ++round) {
    WebSocketDecoder decoder(small);
    const Bytes bytes = random_frames(random);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      ByteView input = ByteView(bytes).subspan(i, 1);
      while (decoder.next(input).kind != WebSocketEvent::Kind::NeedMoreBytes) {
      }
      REQUIRE(decoder.buffered_capacity_bytes() <= 2 * small.max_message_bytes);
    }
  }
}
