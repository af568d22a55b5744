#include "testing/checkers/checkers.hpp"

#include <algorithm>

#include "node/node.hpp"
#include "testing/checkers/admission.hpp"
#include "testing/checkers/bounds.hpp"
#include "testing/checkers/capacity.hpp"
#include "testing/checkers/lease_fences.hpp"
#include "testing/checkers/leftovers.hpp"
#include "testing/checkers/membership.hpp"
#include "testing/checkers/nothing_pending.hpp"
#include "testing/checkers/owned_writes.hpp"
#include "testing/checkers/single_owner.hpp"
#include "testing/checkers/sound_records.hpp"
#include "testing/sim_store.hpp"
#include "testing/sim_world.hpp"

namespace spotmesh::testing {

bool LiveProcess::is_serving() const {
  return node->state() == node::NodeState::Serving && !seams->is_paused();
}

std::string LiveProcess::name() const { return seams->name(); }

const LiveProcess* CheckedRun::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      processes, [name](const LiveProcess& process) { return process.seams->name() == name; });
  return found == processes.end() ? nullptr : &*found;
}

Checkers::Checkers() {
  all_.push_back(std::make_unique<SingleOwnerChecker>(run_));
  all_.push_back(std::make_unique<AdmissionChecker>(run_));
  all_.push_back(std::make_unique<BoundsChecker>(run_));
  all_.push_back(std::make_unique<SoundRecordsChecker>(run_));
  all_.push_back(std::make_unique<OwnedWritesChecker>(run_));
  all_.push_back(std::make_unique<LeaseFencesChecker>(run_));
  all_.push_back(std::make_unique<CapacityChecker>(run_));
  all_.push_back(std::make_unique<MembershipChecker>(run_));
  all_.push_back(std::make_unique<NothingPendingChecker>(run_));
  all_.push_back(std::make_unique<LeftoversChecker>(run_));
}

Checkers::~Checkers() = default;

void Checkers::watch(SimWorld& world, SimStore& store) {
  run_.world = &world;
  run_.store = &store;
  for (const auto& checker : all_) {
    world.watch(*checker);
    store.watch(*checker);
  }
}

void Checkers::process_started(const SimNode& seams, node::Node& node) {
  run_.processes.push_back({&seams, &node});
}

void Checkers::process_ended(const SimNode& seams) {
  std::erase_if(run_.processes,
                [&seams](const LiveProcess& process) { return process.seams == &seams; });
}

void Checkers::look_at_rest() {
  for (const auto& checker : all_) checker->look_at_rest();
}

std::vector<std::string> Checkers::violations() const {
  std::vector<std::string> found;
  for (const auto& checker : all_) {
    found.insert(found.end(), checker->complaints().begin(), checker->complaints().end());
  }
  return found;
}

}  // namespace spotmesh::testing
