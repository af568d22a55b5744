#include <spotmesh/testing/simulation.hpp>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

namespace spotmesh::testing {
namespace {

using namespace std::chrono_literals;

// A process that has failed is started again by whoever watches over it, after so long.
constexpr Duration restart_pause = 2s;
constexpr Duration supervision_period = 1s;
// Between what the workload has asked last and the look at what is left. A store operation may have
// strayed twice, on its way there and back, when the last fault ended.
constexpr Duration rest = 12s + 2 * 30s;

class Run {
 public:
  Run(const Scenario& scenario, std::uint64_t seed)
      : scenario_(scenario),
        chance_(seed, "scenario"),
        fault_chance_(seed, "faults"),
        workload_(scenario.workload(chance_)) {
    ClusterOptions options = scenario.cluster ? scenario.cluster(chance_) : ClusterOptions{};
    options.seed = seed;
    options.defects = scenario.defects;
    if (scenario.faults) faults_ = scenario.faults(chance_);
    cluster_.emplace([this](Application& app) { workload_->configure(app); }, options);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  RunReport run() {
    supervise();
    workload_->begin(*cluster_);
    for (auto& fault : faults_) fault->begin(*cluster_, fault_chance_);
    cluster_->run_for(chance_.between(scenario_.shortest_trouble, scenario_.longest_trouble));
    for (auto& fault : faults_) fault->end();
    workload_->settle();
    if (cluster_->run_until([this] { return has_settled(); }, scenario_.settle_limit)) {
      check_rest();
    } else {
      report_.verdict = RunReport::Verdict::Stuck;
      collect(workload_->finish());
      collect(cluster_->violations());
    }
    return write_report();
  }

 private:
  // Restarts what has failed, as an init system would, at every moment of the run.
  void supervise() {
    cluster_->after(supervision_period, [this] {
      for (unsigned node = 0; node < cluster_->nodes(); ++node) {
        if (!cluster_->has_failed(node) || cluster_->is_paused(node)) continue;
        cluster_->crash(node);
        cluster_->after(restart_pause, [this, node] {
          if (!is_stopping_ && !cluster_->is_running(node)) cluster_->restart(node);
        });
      }
      if (!is_stopping_) supervise();
    });
  }

  bool has_settled() const {
    for (unsigned node = 0; node < cluster_->nodes(); ++node) {
      if (!cluster_->is_serving(node)) return false;
    }
    return workload_->has_settled();
  }

  void check_rest() {
    cluster_->run_for(rest);
    collect(workload_->finish());
    collect(cluster_->violations_at_rest());
    is_stopping_ = true;
    for (unsigned node = 0; node < cluster_->nodes(); ++node) {
      if (!cluster_->stop(node)) collect({fmt::format("node {} did not stop in time", node)});
    }
    std::vector<std::string> late = cluster_->violations_at_rest();
    std::erase_if(late, [this](const auto& known) {
      return std::ranges::find(report_.complaints, known) != report_.complaints.end();
    });
    collect(std::move(late));
    if (!report_.complaints.empty()) report_.verdict = RunReport::Verdict::Wrong;
  }

  void collect(std::vector<std::string> complaints) {
    for (auto& complaint : complaints) report_.complaints.push_back(std::move(complaint));
  }

  RunReport write_report() {
    for (const auto& fault : faults_) {
      if (!report_.faults.empty()) report_.faults += ", ";
      report_.faults += fault->name();
      report_.strikes.push_back(
          {std::string(fault->name()), fault->strikes(), fault->early_strikes()});
    }
    for (const auto& [point, per_mille] : scenario_.defects) {
      report_.defect_strikes += cluster_->defect_strikes(point);
    }
    report_.elapsed = cluster_->elapsed();
    report_.trace_hash = cluster_->trace_hash();
    if (!report_.is_correct() || scenario_.wants_trace) report_.trace = cluster_->trace();
    return std::move(report_);
  }

  const Scenario& scenario_;
  Chance chance_;
  Chance fault_chance_;
  // Its game's objects report to it until the cluster has ended.
  std::unique_ptr<Workload> workload_;
  std::optional<Cluster> cluster_;
  Faults faults_;
  RunReport report_;
  bool is_stopping_ = false;
};

}  // namespace

RunReport simulate(const Scenario& scenario, std::uint64_t seed) {
  return Run(scenario, seed).run();
}

namespace {

using MakeFault = std::unique_ptr<Fault> (*)();
constexpr MakeFault kinds[] = {
    faults::short_freezes,     faults::long_freezes,       faults::late_commits,
    faults::crashes,           faults::clock_drift,        faults::clock_steps,
    faults::slow_paths,        faults::one_way_partitions, faults::partitions,
    faults::isolations,        faults::cut_connections,    faults::slow_store,
    faults::store_strays,      faults::store_refusals,     faults::unknown_outcomes,
    faults::store_outages,     faults::store_cut_off,      faults::fail_overs,
    faults::lost_hints,        faults::slow_clients,       faults::silent_clients,
    faults::vanishing_clients, faults::breaking_clients,   faults::suspensions};

}  // namespace

Faults all_faults() {
  Faults all;
  for (const MakeFault make : kinds) all.push_back(make());
  return all;
}

Faults draw_faults(Chance& chance) {
  Faults drawn;
  // Some runs are calm, most have a few troubles, and in some everything happens.
  const std::uint64_t one_in = chance.one_in(8) ? 2 : 6;
  if (chance.one_in(16)) return drawn;
  for (const MakeFault make : kinds) {
    if (chance.one_in(one_in)) drawn.push_back(make());
  }
  return drawn;
}

std::string RunReport::text() const {
  std::string lines;
  for (const auto& complaint : complaints) lines += fmt::format("  {}\n", complaint);
  return fmt::format("{} after {} s of virtual time; faults: {}\n{}{}",
                     verdict == Verdict::Correct ? "correct"
                     : verdict == Verdict::Wrong ? "WRONG"
                                                 : "STUCK",
                     std::chrono::duration_cast<std::chrono::seconds>(elapsed).count(),
                     faults.empty() ? "none" : faults, lines, trace);
}

}  // namespace spotmesh::testing
