// The checkers are worth something only when they notice. Each case plants one defect in the
// framework itself, and a few seeds must be enough to notice it; the same seeds without it are
// correct.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>

#include "workload.hpp"

using spotmesh::testing::RunReport;
using spotmesh::testing::Scenario;
using spotmesh::testing::simulate;

namespace {

struct Defect {
  std::string_view point;
  std::string_view noticed_as;  // stands in a complaint
  unsigned per_mille = 1000;
  unsigned most_seeds = 40;
};

bool says(const RunReport& report, std::string_view what) {
  return std::ranges::any_of(report.complaints, [what](const std::string& complaint) {
    return complaint.find(what) != std::string::npos;
  });
}

void check_is_noticed(const Scenario& healthy, const Defect& defect) {
  Scenario planted = healthy;
  planted.defects = {{std::string(defect.point), defect.per_mille}};
  std::uint64_t strikes = 0;
  for (std::uint64_t seed = 1; seed <= defect.most_seeds; ++seed) {
    const RunReport without = simulate(healthy, seed);
    INFO(healthy.name << " seed " << seed << " without the defect: " << without.text());
    REQUIRE(without.is_correct());
    const RunReport with = simulate(planted, seed);
    strikes += with.defect_strikes;
    if (!with.is_correct() && says(with, defect.noticed_as)) return;
  }
  FAIL(defect.point << " struck " << strikes << " times in " << defect.most_seeds
                    << " seeds and was not noticed");
}

}  // namespace

TEST_CASE("the checkers notice a creation that takes over before the fence") {
  check_is_noticed(probe::together(), {"create.skip-fence-check", "whose lease stands live"});
}
TEST_CASE("the checkers notice a creation over an owner that is alive") {
  check_is_noticed(probe::together(), {"create.over-alive-owner", "whose lease stands live"});
}
TEST_CASE("the checkers notice an id that is created again where it lives") {
  check_is_noticed(probe::alone(), {"create.over-living", "anew while"});
}
TEST_CASE("the checkers notice a fence that comes too early") {
  check_is_noticed(probe::together(), {"fence.too-early", "lease fences"});
}
TEST_CASE("the checkers notice turns past the admission deadline") {
  check_is_noticed(probe::together(), {"gate.past-deadline", "past its admission deadline"});
}
TEST_CASE("the checkers notice two turns of one gate at once") {
  check_is_noticed(probe::alone(), {"gate.second-turn", "beside another turn", 200});
}
TEST_CASE("the checkers notice a mailbox that changes the order") {
  check_is_noticed(probe::alone(), {"mailbox.reorder", "came after", 50});
}
TEST_CASE("the checkers notice a message that a mailbox loses") {
  check_is_noticed(probe::alone(), {"mailbox.lose", "came after", 5});
}
TEST_CASE("the checkers notice a timer that ticks after it was cancelled") {
  check_is_noticed(probe::alone(), {"timer.cancel-ignored", "was cancelled"});
}
TEST_CASE("the checkers notice a capacity slot that is not given back") {
  check_is_noticed(probe::alone(), {"capacity.leak", "capacity"});
}
TEST_CASE("the checkers notice on_joined_actor running twice") {
  check_is_noticed(probe::alone(), {"join.joined-twice", "twice"});
}
TEST_CASE("the checkers notice on_leave_actor not running") {
  check_is_noticed(probe::alone(), {"join.skip-leave", "had said good-bye"});
}
TEST_CASE("the checkers notice a Join without its commit") {
  check_is_noticed(probe::alone(), {"join.skip-commit", "membership"});
}
TEST_CASE("the checkers notice a message that is lost while its id is resolved") {
  check_is_noticed(probe::together(), {"router.lose-resolved", ""});
}
TEST_CASE("the checkers notice a request without a deadline") {
  check_is_noticed(probe::alone(), {"request.no-deadline", ""});
}
TEST_CASE("the checkers notice a reply that comes twice") {
  check_is_noticed(probe::alone(), {"session.reply-twice", "none due", 20});
}
