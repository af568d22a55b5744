#include "base/backoff.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using spotmesh::Backoff;
using spotmesh::Duration;

TEST_CASE("each wait is twice the one before, up to the longest") {
  Backoff backoff({.first = 20ms, .longest = 100ms});
  CHECK(backoff.next() == 20ms);
  CHECK(backoff.next() == 40ms);
  CHECK(backoff.next() == 80ms);
  CHECK(backoff.next() == 100ms);
  CHECK(backoff.next() == 100ms);
}

TEST_CASE("a backoff that was reset begins anew") {
  Backoff backoff({.first = 20ms, .longest = 100ms});
  backoff.next();
  backoff.next();
  backoff.reset();
  CHECK(backoff.next() == 20ms);
  CHECK(backoff.next() == 40ms);
}

TEST_CASE("doubling stops at the end of the range") {
  Backoff backoff({.first = Duration::max() / 3, .longest = Duration::max()});
  CHECK(backoff.next() == Duration::max() / 3);
  CHECK(backoff.next() == Duration::max() / 3 * 2);
  CHECK(backoff.next() == Duration::max());
}
