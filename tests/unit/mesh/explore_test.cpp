// The session and handshake machines in small configurations, all of it.
#include <catch2/catch.hpp>
#include <iostream>

#include <fmt/format.h>

#include "explorer.hpp"

using namespace spotmesh::mesh::testing;

namespace {

void check_all(std::string_view what, const ExploreOptions& options) {
  const ExploreReport report = explore(options);
  std::cout << fmt::format("{}: {} states, {} transitions, {} ends\n", what, report.states,
                           report.transitions, report.ends);
  INFO(fmt::format("{}", fmt::join(report.steps, "\n")));
  CHECK(report.violation == "");
  CHECK(report.ends > 0);
}

}  // namespace

TEST_CASE("explored: both nodes dial at once", "[MESH-01]") {
  check_all("simultaneous dial, timers early",
            {.messages_from_a = 2, .messages_from_b = 2, .early_timers = 1});
}

TEST_CASE("explored: a connection is cut with an unknown tail", "[MESH-01]") {
  check_all("one cut", {.messages_from_a = 2, .messages_from_b = 1, .cuts = 1});
  check_all("two cuts, one way", {.messages_from_a = 2, .messages_from_b = 0, .cuts = 2});
  check_all("one cut, timers early",
            {.messages_from_a = 1, .messages_from_b = 1, .cuts = 1, .early_timers = 1});
}

TEST_CASE("explored: a node is started again", "[MESH-02]") {
  check_all("one restart", {.messages_from_a = 1, .messages_from_b = 1, .restarts = 1});
  check_all("one cut, one restart",
            {.messages_from_a = 2, .messages_from_b = 0, .cuts = 1, .restarts = 1});
}

TEST_CASE("explored: a run was fenced", "[RACE-12]") {
  check_all("one fence, one cut",
            {.messages_from_a = 2, .messages_from_b = 1, .cuts = 1, .fences = 1});
}

TEST_CASE("explored: taking frames of a run that is over is found out", "[RACE-12]") {
  const auto report = explore({.messages_from_a = 2,
                               .messages_from_b = 0,
                               .fences = 1,
                               .defects = {"mesh.take-ended-run"}});
  CHECK_THAT(report.violation, Catch::Contains("which was over"));
}

TEST_CASE("explored: numbers alone keep frames from being taken twice", "[MESH-01]") {
  const ExploreOptions resends_all = {
      .messages_from_a = 2, .messages_from_b = 0, .cuts = 1, .defects = {"mesh.ignore-positions"}};
  CHECK(explore(resends_all).violation == "");
  ExploreOptions takes_all = resends_all;
  takes_all.defects.emplace_back("mesh.take-duplicate");
  CHECK_THAT(explore(takes_all).violation, Catch::Contains("was due"));
}
