#include "net/outbound_queue.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <string>

using namespace spotmesh;
using namespace spotmesh::net;

namespace {

SharedBytes bytes(std::string_view text) { return SharedBytes::copy_of(as_bytes(text)); }

std::string next(OutboundQueue& queue, std::size_t parts) {
  std::array<iovec, 64> room;
  const auto count = queue.gather(std::span(room).first(parts));
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text.append(static_cast<const char*>(room[i].iov_base), room[i].iov_len);
  }
  return text;
}

}  // namespace

TEST_CASE("what is pushed is gathered in order, up to the parts there is room for") {
  OutboundQueue queue;
  CHECK(queue.empty());
  CHECK(next(queue, 64).empty());
  const std::string one(300, '1');
  const std::string two(400, '2');
  const std::string three(500, '3');
  for (const auto& text : {one, two, three}) queue.push(bytes(text));
  CHECK(next(queue, 64) == one + two + three);
  CHECK(next(queue, 2) == one + two);
  queue.push_front(bytes("zero "));
  CHECK(next(queue, 64) == "zero " + one + two + three);
}

TEST_CASE("short parts that come together are one part, and long ones stand between them") {
  OutboundQueue queue;
  const std::string longer(300, 'x');
  for (const auto* text : {"one ", "two ", "three"}) queue.push(bytes(text));
  CHECK(next(queue, 1) == "one two three");
  queue.push(bytes(longer));
  queue.push(bytes("four "));
  queue.push(bytes("five"));
  CHECK(next(queue, 2) == "one two three" + longer);
  CHECK(next(queue, 64) == "one two three" + longer + "four five");
}

TEST_CASE("a part is as long as its block, and the next begins another") {
  OutboundQueue queue;
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string text(100, static_cast<char>('a' + i % 26));
    queue.push(bytes(text));
    all += text;
  }
  std::array<iovec, 64> room;
  CHECK(queue.gather(room) == 10);  // of 10 parts each
  CHECK(next(queue, 64) == all);
}

TEST_CASE("what was gathered stays where it is while more is pushed") {
  OutboundQueue queue;
  queue.push(bytes("first"));
  std::array<iovec, 4> gathered;
  REQUIRE(queue.gather(gathered) == 1);
  for (const auto* text : {" second", " third"}) queue.push(bytes(text));
  const auto shown = [&] {
    return std::string(static_cast<const char*>(gathered[0].iov_base), gathered[0].iov_len);
  };
  CHECK(shown() == "first");
  queue.consume(5);
  CHECK(next(queue, 1) == " second third");
  REQUIRE(queue.gather(gathered) == 1);
  queue.push(bytes(" fourth"));
  CHECK(shown() == " second third");
  queue.consume(13);
  CHECK(next(queue, 1) == " fourth");
}

TEST_CASE("a write that stops anywhere goes on there") {
  OutboundQueue queue;
  queue.push(bytes("abc"));
  queue.push(bytes("defg"));
  queue.consume(1);
  CHECK(next(queue, 64) == "bcdefg");
  queue.consume(2);
  CHECK(next(queue, 64) == "defg");
  queue.consume(3);
  CHECK(next(queue, 64) == "g");
  CHECK_FALSE(queue.empty());
  queue.consume(1);
  CHECK(queue.empty());
  queue.push(bytes("h"));
  CHECK(next(queue, 64) == "h");
  queue.clear();
  CHECK(queue.empty());
}

TEST_CASE("nothing is lost or repeated, however pushes and writes alternate") {
  std::mt19937 random(7);
  OutboundQueue queue;
  std::string pushed;
  std::string written;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 5 < 2) {
      const std::string text(1 + random() % 9, static_cast<char>('a' + i % 26));
      pushed += text;
      queue.push(bytes(text));
    } else {
      const std::string some = next(queue, 1 + random() % 8);
      const std::size_t taken = some.empty() ? 0 : 1 + random() % some.size();
      written += some.substr(0, taken);
      if (taken != 0) queue.consume(taken);
    }
  }
  while (!queue.empty()) {
    const std::string some = next(queue, 64);
    written += some;
    queue.consume(some.size());
  }
  CHECK(written == pushed);
}
