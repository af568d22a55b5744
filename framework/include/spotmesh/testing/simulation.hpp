// Simulation: a game under faults, from a seed, and what went wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/application.hpp>
#include <spotmesh/testing/chance.hpp>
#include <spotmesh/testing/cluster.hpp>
#include <spotmesh/testing/fault.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::testing {

// What is done in a run, and how one sees that it went well. A run has two phases: in the first the
// faults strike, and whatever happens must be safe; then they end, and everything must settle.
class Workload {
 public:
  virtual ~Workload() = default;

  // The application under test. What its objects are to report, they report to this workload, which
  // outlives them.
  virtual void configure(Application& app) = 0;
  // All nodes serve. From here on the workload does its work with clients and Cluster::after().
  virtual void begin(Cluster& cluster) = 0;
  // The faults have ended, and nodes that had failed are started again. Whatever is asked from now
  // on must succeed, at the second or third try where a connection had to be made anew.
  virtual void settle() = 0;
  // Whether it has, and nothing that was asked is unanswered; asked after every step.
  virtual bool has_settled() const = 0;
  // Called when it has settled: what was wrong, in words. Clients are let go of here at the latest.
  virtual std::vector<std::string> finish() = 0;
};

// A kind of run. Each function draws from the seed; what is left empty has a default.
struct Scenario {
  std::string name;
  std::function<std::unique_ptr<Workload>(Chance&)> workload;
  // One node if empty. The seed is filled in.
  std::function<ClusterOptions(Chance&)> cluster{};
  // None if empty; `draw_faults` for some of all kinds.
  std::function<Faults(Chance&)> faults{};
  // How long faults strike, in virtual time.
  Duration shortest_trouble = std::chrono::seconds(10);
  Duration longest_trouble = std::chrono::seconds(60);
  // After the last fault everything settles within this, or the run is stuck.
  Duration settle_limit = std::chrono::minutes(3);
  // Defects of the framework to plant, with their chance in a thousand; see Cluster::plant_defect.
  std::vector<std::pair<std::string, unsigned>> defects{};
  // The report of a correct run has its trace, too.
  bool wants_trace = false;
};

struct RunReport {
  enum class Verdict : std::uint8_t {
    Correct,
    Wrong,  // a rule was broken
    Stuck   // it did not settle
  };
  Verdict verdict = Verdict::Correct;
  bool is_correct() const { return verdict == Verdict::Correct; }
  // What was wrong, in words; empty when it was correct.
  std::vector<std::string> complaints;
  // What befell the cluster, for people.
  std::string faults;
  struct Strikes {
    std::string fault;
    std::uint64_t all = 0;
    std::uint64_t early = 0;  // in the first ten seconds of the trouble
  };
  // How often, of each of the faults.
  std::vector<Strikes> strikes{};
  // Equal for two runs of one seed.
  std::uint64_t trace_hash = 0;
  // The last things that happened; of a run that was not correct, or if the scenario wants it.
  std::string trace;
  // What happened in all, in virtual time.
  Duration elapsed{};
  // How often each planted defect has happened.
  std::uint64_t defect_strikes = 0;

  // All of it for a person who looks at a failed test.
  std::string text() const;
};

// One run. It is wrong when the workload complains, a rule of the runtime was broken at any moment
// (the checkers of framework/docs/simulator.md), a node does not stop in order at the end, or one
// that has stopped leaves objects in the Location Store.
RunReport simulate(const Scenario& scenario, std::uint64_t seed);

// One of each kind of spotmesh::testing::faults, always in the same order.
Faults all_faults();
// Some of the faults of spotmesh::testing::faults, as many as the seed wants; sometimes none.
Faults draw_faults(Chance& chance);

}  // namespace spotmesh::testing
