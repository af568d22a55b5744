// The checking game as a workload of the simulator, and the scenarios made of it.
#pragma once

#include <spotmesh/testing/simulation.hpp>

#include "client.hpp"
#include "game.hpp"
#include "ledger.hpp"

namespace probe {

struct WorkloadOptions {
  Habits habits;
  GameLimits limits;
  unsigned clients = 4;
  std::uint64_t seed = 1;
};

class ProbeWorkload final : public spotmesh::testing::Workload {
 public:
  explicit ProbeWorkload(WorkloadOptions options) : options_(std::move(options)) {}

  void configure(spotmesh::Application& app) override;
  void begin(spotmesh::testing::Cluster& cluster) override;
  void settle() override;
  bool has_settled() const override;
  std::vector<std::string> finish() override;

 private:
  const WorkloadOptions options_;
  Ledger ledger_;
  spotmesh::testing::Cluster* cluster_ = nullptr;
  std::vector<std::unique_ptr<Client>> clients_;
  bool is_settling_ = false;
};

// Old routes are remembered for so long; a word may go astray meanwhile.
inline constexpr spotmesh::Duration longest_route_age = std::chrono::seconds(16);

// Nodes whose clocks neither agree nor run at the same speed.
spotmesh::testing::ClusterOptions draw_cluster(spotmesh::testing::Chance& chance, unsigned nodes);
// What clients and game do, drawn from the seed.
WorkloadOptions draw_workload(spotmesh::testing::Chance& chance);
// One node, with everything that can befall it.
spotmesh::testing::Scenario alone();
// Two to four nodes.
spotmesh::testing::Scenario together();

}  // namespace probe
