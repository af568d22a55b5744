#include "testing/checkers/lease_fences.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "location/keys.hpp"
#include "location/lease_view.hpp"
#include "testing/sim_world.hpp"

namespace spotmesh::testing {
namespace {

namespace keys = location::keys;

// By the contract: a TTL of 15 s and a margin of 5 s, written down here once more, so that a wrong
// figure in the runtime is no excuse.
constexpr Duration quiet_time = std::chrono::seconds(20);
// An observer's clock may be fast by up to 500 microseconds a second.
constexpr Duration tolerance = std::chrono::milliseconds(11);

}  // namespace

void LeaseFencesChecker::on_commit(const SimStore&, std::string_view client,
                                   const location::Commit& commit, Instant) {
  for (const location::Write& write : commit.writes) {
    if (!write.value) continue;
    if (write.key.starts_with(keys::beat_prefix)) {
      last_beat_[write.key.substr(keys::beat_prefix.size())] = run_.world->now();
    } else if (write.key.starts_with(keys::lease_prefix)) {
      const auto lease = location::decode_lease(write.key, *write.value);
      if (lease) check_lease(write.key, client, *lease);
    }
  }
}

void LeaseFencesChecker::check_lease(const std::string& key, std::string_view client,
                                     const location::LeaseRecord& lease) {
  const std::string owner = key.substr(keys::lease_prefix.size());
  const std::uint64_t generation = lease.stamp.lease_generation.value;
  if (lease.state == location::LeaseState::Fenced) {
    const auto beat = last_beat_.find(owner);
    if (beat == last_beat_.end()) return;
    const Duration still = run_.world->now() - beat->second;
    if (still + tolerance < quiet_time) {
      complain(fmt::format("{} fences {} only {} ms after its beat has moved", client, owner,
                           std::chrono::duration_cast<std::chrono::milliseconds>(still).count()));
    }
    return;
  }
  const auto known = generation_of_.find(owner);
  if (known != generation_of_.end() && known->second == generation) return;  // asserted again
  if (generation <= greatest_ || given_out_.contains(generation)) {
    complain(fmt::format("{} acquires lease generation {} when {} has been given out", client,
                         generation, std::max(greatest_, generation)));
  }
  greatest_ = std::max(greatest_, generation);
  given_out_.insert(generation);
  generation_of_[owner] = generation;
}

}  // namespace spotmesh::testing
