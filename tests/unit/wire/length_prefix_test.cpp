#include "wire/length_prefix.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "websocket_test_frames.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;
using spotmesh::wire::test::hex;
using Kind = LengthPrefixDecoder::Event::Kind;

namespace {

constexpr LengthPrefixDecoder::Bounds small{.min_frame_bytes = 2, .max_frame_bytes = 300};
using Transcript = std::vector<std::string>;

Bytes framed(std::string_view body) {
  Bytes out;
  append_length_prefix(out, static_cast<std::uint32_t>(body.size()));
  const ByteView bytes = as_bytes(body);
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

Bytes join(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Each piece on the heap by itself, so that a sanitizer sees what reads past its end.
void feed(LengthPrefixDecoder& decoder, ByteView piece, Transcript& transcript) {
  const Bytes own(piece.begin(), piece.end());
  ByteView input = own;
  for (auto event = decoder.next(input); event.kind != Kind::NeedMoreBytes;
       event = decoder.next(input)) {
    transcript.push_back(event.kind == Kind::Frame
                             ? "frame " + std::string(as_text(event.frame))
                             : "failed " + std::to_string(static_cast<int>(event.close.code)) +
                                   " " + event.close.reason);
  }
  CHECK(input.empty());
}

Transcript feed_in_pieces(const Bytes& bytes, std::mt19937_64* random) {
  LengthPrefixDecoder decoder(small);
  Transcript transcript;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size =
        std::min(bytes.size() - at, random == nullptr ? bytes.size() : 1 + (*random)() % 9);
    feed(decoder, ByteView(bytes).subspan(at, size), transcript);
    at += size;
  }
  return transcript;
}

void check(const Bytes& bytes, const Transcript& expected) {
  std::mt19937_64 random(7);
  CHECK(feed_in_pieces(bytes, nullptr) == expected);
  for (int round = 0; round < 16; ++round) REQUIRE(feed_in_pieces(bytes, &random) == expected);
}

}  // namespace

TEST_CASE("frames behind their length come out whole however they are cut") {
  CHECK(framed("ab") == hex("02 00 00 00 61 62"));
  const std::string longest(300, 'x');
  check(framed("ab"), {"frame ab"});
  check(join({framed("ab"), framed(longest), framed("cde")}),
        {"frame ab", "frame " + longest, "frame cde"});
  check(hex("02 00 00 00 61"), {});
}

TEST_CASE("a length out of bounds ends the connection, naming size and limit") {
  const std::string over = " bytes is over the limit of 300 bytes";
  check(hex("ff ff ff ff"), {"failed 1009 message of 4294967295" + over});
  check(join({framed("ab"), hex("2d 01 00 00 00 00")}),
        {"frame ab", "failed 1009 message of 301" + over});
  check(hex("00 00 00 00"), {"failed 4001 a length of 0 bytes; the least is 2"});
  check(join({hex("01 00 00 00 61"), framed("ab")}),
        {"failed 4001 a length of 1 bytes; the least is 2"});
  // An HTTP request that has lost its way.
  check(to_bytes("GET / HTTP/1.1\r\n\r\n"), {"failed 1009 message of 542393671" + over});
}

TEST_CASE("a claimed length reserves nothing before its bytes have arrived") {
  LengthPrefixDecoder decoder({.max_frame_bytes = 0xffffffff});
  const Bytes prefix = hex("ff ff ff ff");
  ByteView input = prefix;
  CHECK(decoder.next(input).kind == Kind::NeedMoreBytes);
  CHECK(decoder.buffered_capacity_bytes() == 0);
  CHECK(decoder.has_partial_frame());
  const Bytes some(1000);
  input = some;
  CHECK(decoder.next(input).kind == Kind::NeedMoreBytes);
  CHECK(decoder.buffered_capacity_bytes() <= 2 * some.size());
}

TEST_CASE("a frame that came whole is not copied, a long one in pieces is let go of") {
  LengthPrefixDecoder decoder({});
  const Bytes whole = framed("abc");
  ByteView input = whole;
  CHECK(decoder.next(input).frame.data() == whole.data() + 4);
  CHECK(decoder.buffered_capacity_bytes() == 0);

  const Bytes large = framed(std::string(60'000, 'x'));
  input = ByteView(large).first(30'000);
  CHECK(decoder.next(input).kind == Kind::NeedMoreBytes);
  input = ByteView(large).subspan(30'000);
  CHECK(decoder.next(input).frame.size() == 60'000);
  CHECK(decoder.next(input).kind == Kind::NeedMoreBytes);
  CHECK(decoder.buffered_capacity_bytes() == 0);
}

TEST_CASE("a decoder of lengths knows when a frame has begun and not ended") {
  LengthPrefixDecoder decoder({});
  Transcript transcript;
  CHECK_FALSE(decoder.has_partial_frame());
  feed(decoder, hex("02"), transcript);
  CHECK(decoder.has_partial_frame());
  feed(decoder, hex("00 00 00 61"), transcript);
  CHECK(decoder.has_partial_frame());
  feed(decoder, hex("62"), transcript);
  CHECK_FALSE(decoder.has_partial_frame());
  feed(decoder, hex("00 00 00 00"), transcript);
  CHECK_FALSE(decoder.has_partial_frame());
}
