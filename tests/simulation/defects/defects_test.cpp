// The checkers are worth something only when they notice. Each case plants one defect in the
// framework itself, and a few seeds must be enough to notice it; the same seeds without it are
// correct.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apart.hpp"
#include "cases/fixture.hpp"
#include "defects/leaks_allowed.hpp"
#include "workload.hpp"

using namespace probe;
using simulation::Play;
using simulation::Result;
using spotmesh::testing::ClusterOptions;
using spotmesh::testing::RunReport;
using spotmesh::testing::Scenario;
using spotmesh::testing::simulate;

namespace {

struct Defect {
  std::string_view point;
  std::string_view noticed_as;  // stands in a complaint
  unsigned per_mille = 1000;
  unsigned most_seeds = 40;
  std::string_view together_with = {};  // another that it takes
};

bool says(const std::vector<std::string>& complaints, std::string_view what) {
  return std::ranges::any_of(complaints, [what](const std::string& complaint) {
    return complaint.find(what) != std::string::npos;
  });
}

void check_is_noticed(const Scenario& healthy, const Defect& defect) {
  Scenario planted = healthy;
  planted.defects = {{std::string(defect.point), defect.per_mille}};
  if (!defect.together_with.empty()) {
    planted.defects.emplace_back(defect.together_with, defect.per_mille);
  }
  std::uint64_t strikes = 0;
  for (std::uint64_t seed = 1; seed <= defect.most_seeds; ++seed) {
    const RunReport without = simulate(healthy, seed);
    INFO(healthy.name << " seed " << seed << " without the defect: " << without.text());
    REQUIRE(without.is_correct());
    const RunReport with = [&] {
      [[maybe_unused]] const simulation::LeaksAllowed leaks;
      return simulate(planted, seed);
    }();
    strikes += with.defect_strikes;
    if (!with.is_correct() && says(with.complaints, defect.noticed_as)) return;
  }
  FAIL(defect.point << " struck " << strikes << " times in " << defect.most_seeds
                    << " seeds and was not noticed");
}

// The same for a situation that is too rare to wait for: `complaints_of` plays it by hand, with or
// without the defect.
void check_is_noticed(
    const Defect& defect,
    const std::function<std::vector<std::string>(ClusterOptions)>& complaints_of) {
  for (std::uint64_t seed = 1; seed <= defect.most_seeds; ++seed) {
    INFO("seed " << seed << " without the defect");
    REQUIRE(complaints_of({.seed = seed}) == std::vector<std::string>{});
    const auto complaints = [&] {
      [[maybe_unused]] const simulation::LeaksAllowed leaks;
      return complaints_of(
          {.seed = seed, .defects = {{std::string(defect.point), defect.per_mille}}});
    }();
    if (says(complaints, defect.noticed_as)) return;
  }
  FAIL(defect.point << " was not noticed in " << defect.most_seeds << " seeds");
}

// What one client has said waits for room in its Actor's mailbox while another takes the Actor
// over.
std::vector<std::string> take_over_with_a_full_mailbox(const ClusterOptions& options) {
  Play play(options);
  auto first = play.connect();
  REQUIRE(play.log_in(first, "ann").has_value());
  REQUIRE(play.ask<Answer>(first, Ask{.connection = 1}).has_value());
  first.request<Answer>(Ask{.connection = 1, .delay_us = 200'000}, [](const Result<Answer>&) {});
  const auto notes = static_cast<std::uint32_t>(spotmesh::limits::mailbox_application_jobs + 20);
  for (std::uint32_t number = 1; number <= notes; ++number) {
    first.send(Note{.connection = 1, .number = number});
  }
  play.cluster.run_for(std::chrono::milliseconds(40 + 10 * options.seed));
  auto second = play.connect();
  REQUIRE(play.log_in(second, "ann").has_value());
  play.cluster.run_for(std::chrono::seconds(2));
  return play.ledger.take_complaints();
}

std::vector<std::string> destroy_and_rest(const ClusterOptions& options) {
  Play play(options);
  auto client = play.connect();
  REQUIRE(play.log_in(client, "ann").has_value());
  REQUIRE(play.ask<HasQuit>(client, Quit{.name = "ann"})->was_living);
  play.cluster.run_for(std::chrono::seconds(1));
  return play.cluster.violations_at_rest();
}

// Nothing befalls it but connections that are cut.
Scenario with_cuts() {
  Scenario scenario = probe::apart();
  scenario.faults = [](spotmesh::testing::Chance&) {
    spotmesh::testing::Faults faults;
    faults.push_back(spotmesh::testing::faults::cut_connections());
    return faults;
  };
  return scenario;
}

// Nothing befalls it but machines that are suspended in the middle of a turn.
Scenario with_suspensions() {
  Scenario scenario = probe::together();
  scenario.faults = [](spotmesh::testing::Chance&) {
    spotmesh::testing::Faults faults;
    faults.push_back(spotmesh::testing::faults::suspensions());
    return faults;
  };
  return scenario;
}

// Nothing befalls it but processes that stand still with a commit on its way.
Scenario with_late_commits() {
  Scenario scenario = probe::together();
  scenario.faults = [](spotmesh::testing::Chance&) {
    spotmesh::testing::Faults faults;
    faults.push_back(spotmesh::testing::faults::late_commits());
    return faults;
  };
  scenario.shortest_trouble = scenario.longest_trouble = std::chrono::minutes(5);
  return scenario;
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
TEST_CASE("the checkers notice what was said in a turn leaving past the admission deadline",
          "[RACE-09]") {
  check_is_noticed(with_suspensions(), {"flush.past-deadline", "lets go what was said"});
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
TEST_CASE("the checkers notice a reservation that is not conditional on the writer's lease") {
  check_is_noticed(with_late_commits(), {"create.skip-lease-condition", "without a live lease"});
}
TEST_CASE("the checkers notice a message that passes the barrier of a Join") {
  check_is_noticed(probe::alone(), {"mailbox.pass-barrier", "passed the barrier"});
}
TEST_CASE("the checkers notice what a replaced session has said being taken") {
  check_is_noticed({"binding.take-stale", "while 2 is attached"}, take_over_with_a_full_mailbox);
}
TEST_CASE("the checkers notice an owner that admits for its whole TTL") {
  check_is_noticed(probe::together(),
                   {"lease.without-margin", "past its admission deadline", 1000, 100});
}
TEST_CASE("the checkers notice a fence without the margin") {
  check_is_noticed(probe::together(), {"fence.without-margin", "lease fences"});
}
TEST_CASE("the checkers notice what comes a second time after a reconnect") {
  check_is_noticed(with_cuts(),
                   {"mesh.take-duplicate", "reached", 1000, 40, "mesh.ignore-positions"});
}
TEST_CASE("the checkers notice a frame whose number is taken and not what is in it") {
  check_is_noticed(with_cuts(), {"mesh.skip-frame", "never reached", 5});
}
TEST_CASE("the checkers notice the record of an Actor that has ended") {
  check_is_noticed({"destroy.keep-record", "has not got"}, destroy_and_rest);
}
