// What the lease means to code that acts for this node, and the generations it gives.
#pragma once

#include <cstdint>
#include <optional>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/time.hpp>

#include "location/records.hpp"
#include "location/store.hpp"

namespace spotmesh::location {

struct LeaseConfig {
  Duration renew_interval = limits::lease_renew_interval;
  Duration ttl = limits::lease_ttl;
  Duration renew_timeout = limits::lease_renew_timeout;
  Duration margin = limits::lease_margin;
  // How long an owner keeps admitting work after the last successful renewal was sent.
  Duration admission_time() const { return ttl - margin; }
  // How long a beat must stand still before it may be fenced, and how long after a new epoch only
  // re-assertions are written.
  Duration quiet_time() const { return ttl + margin; }
};

// InvalidOperation unless all are positive, margin < ttl, and renew_interval + renew_timeout <
// ttl - margin; the message has the numbers. A host turns it into a failed start.
Result<void> validate(const LeaseConfig& config);

// What code that acts for this node must know of its lease at the moment it acts.
struct LeaseView {
  bool is_held = false;  // acquired, and neither fenced nor released
  std::optional<OwnerStamp> stamp;
  StoreVersion lease_version;  // condition of every write that acts for this owner
  StoreEpoch epoch;            // of the store when the lease was last acquired or asserted
  Instant admission_deadline{Duration::min()};
  // What the last renewal in the epoch before gave objects that are not yet re-asserted in `epoch`.
  Instant former_admission_deadline{Duration::min()};
  Instant quiet_until{Duration::min()};  // no creation, Join, fence, take-over or destroy before

  // Whether a new turn, timer, factory, push or store write may start.
  bool admits(Instant now) const { return is_held && now < admission_deadline; }
  // Whether objects may be created, joined, taken over or destroyed.
  bool may_create(Instant now) const { return admits(now) && now >= quiet_until; }
};

// Issues ObjectGenerations: the lease generation in the upper 31 bits, a local counter in the lower
// 32, so that no id needs a tombstone.
class GenerationMint {
 public:
  explicit GenerationMint(LeaseGeneration lease, std::uint64_t next_local = 1)
      : lease_(lease), next_local_(next_local) {}
  // InternalFailure "generation exhausted" when either part has no room left; nothing wraps.
  Result<ObjectGeneration> mint();

 private:
  LeaseGeneration lease_;
  std::uint64_t next_local_;
};

// The largest lease generation that fits an ObjectGeneration.
inline constexpr std::uint64_t max_lease_generation = 0x7fff'ffff;
// What a new epoch adds to the counter: more than a store can have forgotten. Besides it adds some
// number below the second one, so that an epoch which forgets the one before it, and starts from
// the same counter, gives out other generations than that one has.
inline constexpr std::uint64_t lease_generation_epoch_step = std::uint64_t{1} << 20;
inline constexpr std::uint64_t lease_generation_epoch_spread = std::uint64_t{1} << 16;

}  // namespace spotmesh::location
