// Apart: the checking game on several nodes without clients, whose objects live anywhere.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <spotmesh/testing/simulation.hpp>

#include "game.hpp"
#include "ledger.hpp"
#include "resident.hpp"

namespace probe {

struct ApartOptions {
  Customs customs;
  GameLimits limits;
  unsigned residents = 4;
  std::uint64_t seed = 1;
};

// After the faults: it waits until all nodes have served for a while, goes on for some time in
// peace, comes to rest, and then everything that it has is made and reached from everywhere.
class ApartWorkload final : public spotmesh::testing::Workload {
 public:
  explicit ApartWorkload(ApartOptions options) : options_(std::move(options)) {}

  void configure(spotmesh::Application& app) override;
  void begin(spotmesh::testing::Cluster& cluster) override;
  void settle() override;
  bool has_settled() const override { return phase_ == Phase::Settled; }
  std::vector<std::string> finish() override;

 private:
  enum class Phase { Trouble, Recovering, Peace, Resting, Concluding, Settled };

  void look();
  void go_to(Phase next);
  bool do_all_serve() const;
  bool are_all(bool (Resident::*something)() const) const;

  const ApartOptions options_;
  Ledger ledger_;
  spotmesh::testing::Cluster* cluster_ = nullptr;
  std::vector<std::unique_ptr<Resident>> residents_;
  Phase phase_ = Phase::Trouble;
  spotmesh::Duration since_{};  // of the phase; while recovering, since all nodes serve
};

// Two to four nodes, with everything that can befall them.
spotmesh::testing::Scenario apart();

}  // namespace probe
