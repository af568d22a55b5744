#include <catch2/catch.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <spotmesh/testing/simulation.hpp>

using namespace std::chrono_literals;
using namespace spotmesh::testing;

namespace {

struct Resident : spotmesh::Actor {
  using Actor::Actor;
};
struct Lobby : spotmesh::EntrySpot<Resident> {
  using EntrySpot::EntrySpot;
};

struct Course {
  bool settles = true;
  std::vector<std::string> complaints;
};

// Does nothing, and settles or complains as it is told.
class Idle final : public Workload {
 public:
  explicit Idle(Course course) : course_(std::move(course)) {}
  void configure(spotmesh::Application& app) override {
    app.mesh("play").object_server().entry_spot<Lobby>();
  }
  void begin(Cluster&) override {}
  void settle() override { is_settling_ = true; }
  bool has_settled() const override { return is_settling_ && course_.settles; }
  std::vector<std::string> finish() override { return course_.complaints; }

 private:
  const Course course_;
  bool is_settling_ = false;
};

Scenario idle(Course course, unsigned nodes = 1) {
  return {.name = "idle",
          .workload = [course](Chance&) { return std::make_unique<Idle>(course); },
          .cluster = [nodes](Chance&) { return ClusterOptions{.nodes = nodes}; },
          .faults = {}};
}

// Strikes and is mended in turn; in the end nothing is left broken.
class Tally final : public Fault {
 public:
  struct Counts {
    unsigned strikes = 0;
    unsigned mends = 0;
    bool is_broken = false;
  };
  explicit Tally(Counts& counts) : Fault({10ms, 100ms, 10ms, 50ms}), counts_(counts) {}
  std::string_view name() const override { return "tally"; }

 private:
  bool strike(Cluster&, Chance&) override {
    CHECK_FALSE(counts_.is_broken);
    counts_.is_broken = true;
    ++counts_.strikes;
    return true;
  }
  void mend(Cluster&) override {
    counts_.is_broken = false;
    ++counts_.mends;
  }

  Counts& counts_;
};

}  // namespace

TEST_CASE("a run that settles without a complaint is correct, under any faults") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Scenario scenario = idle({}, 3);
    scenario.faults = draw_faults;
    const RunReport report = simulate(scenario, seed);
    INFO("seed " << seed << ": " << report.text());
    REQUIRE(report.is_correct());
    CHECK(report.trace.empty());
  }
}

TEST_CASE("a run with a complaint is wrong, and its report says why") {
  const RunReport report =
      simulate(idle({.settles = true, .complaints = {"a hair in the soup"}}), 7);
  CHECK(report.verdict == RunReport::Verdict::Wrong);
  CHECK(report.text().find("a hair in the soup") != std::string::npos);
  CHECK_FALSE(report.trace.empty());
}

TEST_CASE("a run that does not settle within its limit is stuck") {
  Scenario scenario = idle({.settles = false, .complaints = {}});
  scenario.settle_limit = 30s;
  const RunReport report = simulate(scenario, 7);
  CHECK(report.verdict == RunReport::Verdict::Stuck);
  CHECK(report.elapsed >= 40s);
}

TEST_CASE("a seed decides a whole run") {
  Scenario scenario = idle({}, 2);
  scenario.faults = draw_faults;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const RunReport first = simulate(scenario, seed);
    const RunReport second = simulate(scenario, seed);
    CHECK(first.trace_hash == second.trace_hash);
    CHECK(first.faults == second.faults);
    CHECK(first.elapsed == second.elapsed);
  }
  CHECK(simulate(scenario, 1).trace_hash != simulate(scenario, 2).trace_hash);
}

TEST_CASE("a fault strikes and is mended in turn, and is mended when it ends") {
  Tally::Counts counts;
  Scenario scenario = idle({});
  scenario.faults = [&counts](Chance&) {
    Faults faults;
    faults.push_back(std::make_unique<Tally>(counts));
    return faults;
  };
  CHECK(simulate(scenario, 3).is_correct());
  CHECK(counts.strikes > 10);
  CHECK(counts.mends >= counts.strikes);
  CHECK_FALSE(counts.is_broken);
}
