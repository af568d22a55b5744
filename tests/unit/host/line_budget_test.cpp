#include "host/line_budget.hpp"

#include <catch2/catch.hpp>

using namespace spotmesh;
using namespace std::chrono_literals;

namespace {

// How many of `lines` at one moment are admitted.
int admitted(LineBudget& budget, int lines, LineBudget::Time now, std::string_view who = "net",
             LogLevel level = LogLevel::Info) {
  int count = 0;
  for (int i = 0; i < lines; ++i) count += budget.judge(who, level, now).is_admitted ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("ten seconds' worth of lines may come at once, and then so many per second") {
  LineBudget budget(5);
  const LineBudget::Time start{};
  CHECK(admitted(budget, 1000, start) == 50);
  CHECK(admitted(budget, 1000, start) == 0);
  CHECK(admitted(budget, 1000, start + 200ms) == 1);
  CHECK(admitted(budget, 1000, start + 1200ms) == 5);
  CHECK(admitted(budget, 1000, start + 1h) == 50);
}

TEST_CASE("each component and each level has a budget of its own") {
  LineBudget budget(1);
  const LineBudget::Time start{};
  CHECK(admitted(budget, 100, start, "net") == 10);
  CHECK(admitted(budget, 100, start, "objects") == 10);
  CHECK(admitted(budget, 100, start, "net", LogLevel::Error) == 10);
}

TEST_CASE("what was left out is told with the next line, once") {
  LineBudget budget(1);
  const LineBudget::Time start{};
  admitted(budget, 13, start);
  REQUIRE(budget.left_out().size() == 1);
  CHECK(budget.left_out()[0].component == "net");
  CHECK(budget.left_out()[0].lines == 3);
  const auto next = budget.judge("net", LogLevel::Info, start + 1s);
  CHECK(next.is_admitted);
  CHECK(next.left_out == 3);
  CHECK(budget.left_out().empty());
  CHECK(budget.judge("net", LogLevel::Info, start + 2s).left_out == 0);
}
