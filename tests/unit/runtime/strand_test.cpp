#include "runtime/strand.hpp"

#include <catch2/catch.hpp>
#include <memory>

#include "fixture.hpp"

namespace spotmesh::runtime::testing {
namespace {

TEST_CASE("a strand runs what is posted, in order, never inside post()") {
  ManualScheduler scheduler;
  Strand strand(scheduler);
  std::vector<int> ran;
  strand.post([&] {
    ran.push_back(1);
    strand.post([&] { ran.push_back(3); });
  });
  strand.post([&, only = std::make_unique<int>(2)] { ran.push_back(*only); });
  CHECK(ran.empty());
  CHECK(scheduler.submissions == 1);
  CHECK_FALSE(strand.is_idle());
  scheduler.run_all();
  CHECK(ran == std::vector<int>{1, 2, 3});
  CHECK(strand.is_idle());
  strand.post([&] { ran.push_back(4); });
  scheduler.run_all();
  CHECK(ran.back() == 4);
}

TEST_CASE("a strand gives way after 64 jobs") {
  ManualScheduler scheduler;
  Strand strand(scheduler);
  int ran = 0;
  for (int i = 0; i < 150; ++i) strand.post([&] { ++ran; });
  scheduler.run_one();
  CHECK(ran == 64);
  scheduler.run_one();
  CHECK(ran == 128);
  scheduler.run_all();
  CHECK(ran == 150);
}

TEST_CASE("a closed strand drops what waits and what comes") {
  ManualScheduler scheduler;
  Strand strand(scheduler);
  auto held = std::make_shared<int>(0);
  int ran = 0;
  strand.post([&] {
    ++ran;
    strand.close();
  });
  strand.post([&ran, held] { ++ran; });
  scheduler.run_all();
  CHECK(ran == 1);
  CHECK(held.use_count() == 1);
  strand.post([&ran, held] { ++ran; });
  CHECK(held.use_count() == 1);
  CHECK(scheduler.queued() == 0);
}

}  // namespace
}  // namespace spotmesh::runtime::testing
