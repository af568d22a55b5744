#include "location/authority.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "location/keys.hpp"

namespace spotmesh::location {

ObjectKey ObjectKey::of(const ActorId& id) {
  return {keys::actor(id), fmt::format("Actor \"{}\"", keys::printable(id.text()))};
}

ObjectKey ObjectKey::of(const SpotId& id) {
  return {keys::spot(id), fmt::format("Spot \"{}\"", keys::printable(id.text()))};
}

VacantRecord vacant_record(const AuthorityRecord& record, const StoreVersion& version) {
  VacantRecord vacant{.version = version, .keep_until = {}};
  for (const TerminalRecord& terminal : record.terminals) {
    vacant.keep_until.unix_milliseconds =
        std::max(vacant.keep_until.unix_milliseconds, terminal.keep_until.unix_milliseconds);
  }
  return vacant;
}

AuthorityReader::AuthorityReader(std::string key, const AuthorityEnvironment& environment)
    : key_(std::move(key)), environment_(environment) {
  restart();
}

void AuthorityReader::restart() {
  keys_ = {key_};
  reading_ = {};
}

const std::optional<StoredValue>* AuthorityReader::find(const ReadResult& result,
                                                        std::string_view key) const {
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  if (found == keys_.end()) return nullptr;
  return &result.values.at(static_cast<std::size_t>(found - keys_.begin()));
}

bool AuthorityReader::is_own(const OwnerStamp& stamp) const {
  return environment_.lease.stamp && stamp == *environment_.lease.stamp;
}

Result<bool> AuthorityReader::take(const ReadResult& result) {
  reading_ = {};
  reading_.epoch = result.epoch;
  const auto& stored = *find(result, key_);
  if (!stored) {
    reading_.conditions = {{key_, std::nullopt}};
    return true;
  }
  auto record = decode_authority(key_, stored->value);
  if (!record) return fail(record.error());
  reading_.conditions = {{key_, stored->version}};
  reading_.object = VersionedAuthority{std::move(*record), stored->version};
  const AuthorityRecord& object = reading_.object->record;
  if (object.state == AuthorityState::Vacant) return true;
  if (object.membership && object.membership->owner_follows_spot) {
    return take_spot(result, *object.membership);
  }
  reading_.owner = object.owner;
  return take_owner(result);
}

Result<bool> AuthorityReader::take_spot(const ReadResult& result, const Membership& membership) {
  const std::string key = keys::spot(membership.spot);
  const auto* stored = find(result, key);
  if (stored == nullptr) {
    keys_ = {key_, key};
    return false;
  }
  reading_.conditions.push_back({key, *stored ? std::optional((*stored)->version) : std::nullopt});
  if (!*stored) return true;
  auto spot = decode_authority(key, (*stored)->value);
  if (!spot) return fail(spot.error());
  reading_.spot = VersionedAuthority{std::move(*spot), (*stored)->version};
  const AuthorityRecord& record = reading_.spot->record;
  // Another incarnation of the Spot: the one that this Actor was in has lost its owner.
  if (record.state != AuthorityState::Ready ||
      record.object_generation != membership.spot_generation) {
    return true;
  }
  reading_.owner = record.owner;
  return take_owner(result);
}

Result<bool> AuthorityReader::take_owner(const ReadResult& result) {
  if (is_own(*reading_.owner)) return true;
  const OwnerId& owner = reading_.owner->owner;
  const std::string lease_key = keys::lease(owner);
  const std::string beat_key = keys::beat(owner);
  const auto* lease = find(result, lease_key);
  if (lease == nullptr) {
    keys_ = {key_};
    if (reading_.object->record.membership && reading_.conditions.size() > 1) {
      keys_.push_back(reading_.conditions.back().key);
    }
    keys_.push_back(lease_key);
    keys_.push_back(beat_key);
    return false;
  }
  OwnerReading seen;
  if (*lease) {
    auto decoded = decode_lease(lease_key, (*lease)->value);
    if (!decoded) return fail(decoded.error());
    seen.lease = std::move(*decoded);
    seen.lease_version = (*lease)->version;
  }
  const auto& beat = *find(result, beat_key);
  if (beat) seen.beat_version = beat->version;
  if (is_over(run_of(*reading_.owner), seen)) {
    reading_.conditions.push_back({lease_key, seen.lease_version});
  }
  reading_.owner_lease = std::move(seen);
  return true;
}

bool AuthorityReader::is_forgotten() const {
  const StoreEpoch& reserved_in = reading_.object->record.reserved_in;
  return reserved_in != StoreEpoch{} && reserved_in != reading_.epoch &&
         !runtime::fault_strikes(environment_.faults, "create.keep-forgotten");
}

bool AuthorityReader::is_uncertain(Instant now) const {
  const LeaseView& lease = environment_.lease;
  return reading_.epoch != lease.epoch || now < lease.quiet_until;
}

bool AuthorityReader::is_own_leftover() const {
  return reading_.owner && is_own(*reading_.owner) &&
         !environment_.local.has(key_, reading_.object->record.object_generation);
}

std::optional<OwnerStamp> AuthorityReader::owner_over(Instant now) const {
  if (!reading_.owner || !reading_.owner_lease) return {};
  const bool is_absent = !reading_.owner_lease->lease_version;
  if (!is_over(run_of(*reading_.owner), *reading_.owner_lease) ||
      (is_absent && is_uncertain(now))) {
    return {};
  }
  return reading_.owner;
}

Standing AuthorityReader::standing(Instant now) const {
  if (!reading_.object || reading_.object->record.state == AuthorityState::Vacant) {
    return Standing::Missing;
  }
  if (!reading_.owner) return Standing::OwnerLost;
  const AuthorityRecord& record = reading_.object->record;
  const bool is_creating = record.state == AuthorityState::Creating;
  if (is_own(*reading_.owner)) {
    if (is_own_leftover() || runtime::fault_strikes(environment_.faults, "create.over-living")) {
      return Standing::OwnerLost;
    }
    if (is_creating) return Standing::Creating;
    return environment_.lease.admits(now) ? Standing::Ready : Standing::Silent;
  }
  const OwnerRun run = run_of(*reading_.owner);
  if (owner_over(now)) return Standing::OwnerLost;
  if (runtime::fault_strikes(environment_.faults, "create.over-alive-owner")) {
    return Standing::OwnerLost;
  }
  if (is_creating)
    return is_forgotten() && !is_uncertain(now) ? Standing::OwnerLost : Standing::Creating;
  switch (environment_.owners.verdict(run, now)) {
    case OwnerVerdict::Alive:
      return Standing::Ready;
    case OwnerVerdict::Silent:
      return Standing::Silent;
    case OwnerVerdict::Unproven:
    case OwnerVerdict::Fenced:  // not so in this reading, which is the newer one
      return Standing::Unproven;
  }
  return Standing::Unproven;
}

Commit owned_commit(const LeaseView& lease) {
  Commit commit;
  commit.epoch = lease.epoch;
  commit.conditions = {{keys::lease(lease.stamp->owner), lease.lease_version}};
  return commit;
}

Commit write_object(const LeaseView& lease, std::string key, std::optional<StoreVersion> version,
                    const AuthorityRecord& record) {
  Commit commit = owned_commit(lease);
  commit.conditions.push_back({key, version});
  commit.writes.push_back({std::move(key), encode(record)});
  return commit;
}

Commit remove_object(const LeaseView& lease, std::string key, StoreVersion version) {
  Commit commit = owned_commit(lease);
  commit.conditions.push_back({key, version});
  commit.writes.push_back({std::move(key), std::nullopt});
  return commit;
}

Reassertion decide_reassertion(const AuthorityRecord& own,
                               const std::optional<AuthorityRecord>& stored) {
  if (!stored || stored->state == AuthorityState::Vacant) return Reassertion::Write;
  if (*stored == own) return Reassertion::Keep;
  const auto rank = [](const AuthorityRecord& record) {
    return std::tuple(record.takeover_count, record.owner_generation);
  };
  if (rank(*stored) != rank(own)) {
    return rank(*stored) > rank(own) ? Reassertion::StepDown : Reassertion::Write;
  }
  const bool is_own_incarnation =
      stored->owner == own.owner && stored->object_generation == own.object_generation;
  return is_own_incarnation ? Reassertion::Write : Reassertion::StepDown;
}

}  // namespace spotmesh::location
