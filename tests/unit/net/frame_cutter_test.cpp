// Frames on a stream of bytes, cut anywhere.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "net/frame_cutter.hpp"

using namespace spotmesh;
using namespace spotmesh::net;

namespace {

Bytes stream_of(const std::vector<std::string>& texts) {
  std::vector<SharedBytes> frames;
  for (const auto& text : texts) frames.push_back(SharedBytes::copy_of(as_bytes(text)));
  Bytes stream;
  for (const SharedBytes& part : with_prefixes(std::move(frames))) {
    stream.insert(stream.end(), part.view().begin(), part.view().end());
  }
  return stream;
}

std::vector<std::string> texts_of(const std::vector<SharedBytes>& frames) {
  std::vector<std::string> texts;
  for (const SharedBytes& frame : frames) texts.emplace_back(as_text(frame.view()));
  return texts;
}

}  // namespace

TEST_CASE("frames come out as they went in, however the stream is cut") {
  const std::vector<std::string> said = {"a", std::string(4096, 'b'), std::string(4097, 'c'), "dd",
                                         std::string(10'000, 'e')};
  const Bytes stream = stream_of(said);
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{5},
                                 std::size_t{4101}, stream.size()}) {
    INFO("steps of " << step);
    FrameCutter cutter(10'000);
    std::vector<SharedBytes> frames;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      const ByteView rest = ByteView(stream).subspan(at);
      REQUIRE(cutter.take(rest.first(std::min(step, rest.size())), frames).has_value());
    }
    CHECK(texts_of(frames) == said);
  }
}

TEST_CASE("short frames leave together, and long ones are not copied") {
  std::vector<SharedBytes> frames(100, SharedBytes::copy_of(as_bytes("short")));
  CHECK(with_prefixes(frames).size() == 1);
  const auto big = SharedBytes::copy_of(as_bytes(std::string(50'000, 'x')));
  const auto parts = with_prefixes({big, SharedBytes::copy_of(as_bytes("short")), big});
  REQUIRE(parts.size() == 4);
  CHECK(parts[1].view().data() == big.view().data());
  CHECK(parts[3].view().data() == big.view().data());
  CHECK(with_prefixes({}).empty());
}

TEST_CASE("a length that no frame has ends the stream, with what came before it taken") {
  const std::string prefix =
      GENERATE(std::string("\0\0\0\0", 4), std::string("\xff\xff\xff\xff", 4),
               std::string("\x11\x00\x00\x00", 4));
  const std::size_t step = GENERATE(std::size_t{1}, std::size_t{100});
  Bytes stream = stream_of({"before"});
  const ByteView fault = as_bytes(prefix);
  stream.insert(stream.end(), fault.begin(), fault.end());
  stream.insert(stream.end(), 20, std::byte{'x'});
  FrameCutter cutter(16);
  std::vector<SharedBytes> frames;
  Result<void> taken;
  for (std::size_t at = 0; at < stream.size() && taken; at += step) {
    const ByteView rest = ByteView(stream).subspan(at);
    taken = cutter.take(rest.first(std::min(step, rest.size())), frames);
  }
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().kind() == ErrorKind::ProtocolError);
  CHECK_THAT(taken.error().message(), Catch::Contains("1 to 16 are allowed"));
  CHECK(texts_of(frames) == std::vector<std::string>{"before"});
}
