#include "net/readiness.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>

using namespace spotmesh::net;

namespace {

struct Heard final : Readiness::Waiter {
  void on_ready(bool is_readable, bool is_writable, bool is_over) override {
    ++times;
    said = std::string(is_readable ? "r" : "") + (is_writable ? "w" : "") + (is_over ? "o" : "");
    if (then) then();
  }
  int times = 0;
  std::string said;
  std::function<void()> then;
};

struct Pair {
  Pair() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0); }
  ~Pair() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  void say(char letter) const { REQUIRE(write(ends[1], &letter, 1) == 1); }
  int own() const { return ends[0]; }
  void end_other() { close(std::exchange(ends[1], -1)); }

  std::array<int, 2> ends{-1, -1};
};

bool is_readable(int descriptor) {
  pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
  return poll(&polled, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a connection is told of each change once, and of the end behind what can be read") {
  Readiness readiness;
  Pair pair;
  Heard heard;
  REQUIRE(readiness.add(pair.own(), heard));
  CHECK(readiness.tell() == 1);
  CHECK(heard.said == "w");
  CHECK(readiness.tell() == 0);
  pair.say('a');
  CHECK(readiness.tell() == 1);
  CHECK(heard.said == "rw");
  CHECK(readiness.tell() == 0);  // though nothing was read
  pair.say('b');
  CHECK(readiness.tell() == 1);
  pair.end_other();
  CHECK(readiness.tell() == 1);
  CHECK(heard.said == "rwo");
  readiness.remove(pair.own(), heard);
}

TEST_CASE("what was ready before it was entered is told as well") {
  Readiness readiness;
  Pair pair;
  Heard heard;
  pair.say('a');
  REQUIRE(readiness.add(pair.own(), heard));
  CHECK(readiness.tell() == 1);
  CHECK(heard.said == "rw");
}

TEST_CASE("who is removed while others are told is not called any more") {
  Readiness readiness;
  std::array<Pair, 2> pairs;
  std::array<Heard, 2> heard;
  for (std::size_t i = 0; i < 2; ++i) {
    heard[i].then = [&, i] { readiness.remove(pairs[1 - i].own(), heard[1 - i]); };
    REQUIRE(readiness.add(pairs[i].own(), heard[i]));
  }
  readiness.tell();
  CHECK(heard[0].times + heard[1].times == 1);
  for (const Pair& pair : pairs) pair.say('a');
  readiness.tell();
  CHECK(heard[0].times + heard[1].times == 2);
}

TEST_CASE("a sleeper is alerted of what is ready already and of what comes, and only then") {
  Readiness readiness;
  Pair pair;
  Heard heard;
  REQUIRE(readiness.add(pair.own(), heard));
  CHECK_FALSE(is_readable(readiness.descriptor()));
  readiness.alert(true);
  CHECK(is_readable(readiness.descriptor()));
  readiness.tell();
  CHECK_FALSE(is_readable(readiness.descriptor()));
  pair.say('a');
  CHECK(is_readable(readiness.descriptor()));
  readiness.alert(false);
  CHECK_FALSE(is_readable(readiness.descriptor()));
}
