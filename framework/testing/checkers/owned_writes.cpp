#include "testing/checkers/owned_writes.hpp"

#include <optional>

#include <fmt/format.h>

#include "location/keys.hpp"
#include "node/node.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "testing/sim_store.hpp"

namespace spotmesh::testing {
namespace {

namespace keys = location::keys;
using location::AuthorityRecord;
using location::AuthorityState;

std::optional<AuthorityRecord> authority_at(const SimStore& store, const std::string& key) {
  const Bytes* value = store.peek(key);
  if (value == nullptr) return std::nullopt;
  auto decoded = location::decode_authority(key, *value);
  return decoded ? std::optional(*std::move(decoded)) : std::nullopt;
}

// Whoever runs the object of that record; nobody when it is vacant, or its Spot is lost.
std::optional<location::OwnerStamp> owner_in_effect(const SimStore& store,
                                                    const AuthorityRecord& record) {
  if (record.state == AuthorityState::Vacant) return std::nullopt;
  if (!record.membership || !record.membership->owner_follows_spot) return record.owner;
  const auto spot = authority_at(store, keys::spot(record.membership->spot));
  const bool is_there = spot && spot->state == AuthorityState::Ready &&
                        spot->object_generation == record.membership->spot_generation;
  return is_there ? std::optional(spot->owner) : std::nullopt;
}

}  // namespace

void OwnedWritesChecker::on_commit(const SimStore&, std::string_view client,
                                   const location::Commit& commit, Instant) {
  // A commit that was on its way when its process died may still come to be applied.
  const LiveProcess* writer = run_.find(client);
  for (const location::Write& write : commit.writes) {
    if (write.key.starts_with(keys::lease_prefix)) see_lease(write);
    if (write.key.starts_with(keys::actor_prefix) || write.key.starts_with(keys::spot_prefix)) {
      check_write(writer, client, write);
    }
  }
}

// A store that forgets may show the lease again of a run that is over; it stays over.
void OwnedWritesChecker::see_lease(const location::Write& write) {
  std::string owner = write.key.substr(keys::lease_prefix.size());
  if (write.value) {
    const auto lease = location::decode_lease(write.key, *write.value);
    if (!lease || lease->state == location::LeaseState::Live) return;
  }
  ended_.insert(std::move(owner));
}

bool OwnedWritesChecker::has_live_lease(const location::OwnerStamp& owner) const {
  if (ended_.contains(owner.owner.text())) return false;
  const std::string key = keys::lease(owner.owner);
  const Bytes* value = run_.store->peek(key);
  if (value == nullptr) return false;
  const auto lease = location::decode_lease(key, *value);
  return lease && lease->state == location::LeaseState::Live && lease->stamp == owner;
}

void OwnedWritesChecker::check_write(const LiveProcess* writer, std::string_view client,
                                     const location::Write& write) {
  const std::string name = keys::printable(write.key);
  std::optional<AuthorityRecord> written;
  if (write.value) {
    auto decoded = location::decode_authority(write.key, *write.value);
    if (!decoded) return;  // SoundRecordsChecker has said so
    if (decoded->state != AuthorityState::Vacant) written = *std::move(decoded);
  }
  if (written && !has_live_lease(written->owner)) {
    complain(fmt::format("{} writes {} without a live lease", client, name));
  }
  if (writer == nullptr) return;
  const NodeRid& self = writer->node->identity().rid;
  if (written && written->owner.rid != self) {
    complain(fmt::format("{} writes {} in the name of {}", client, name, written->owner.rid.text));
  }
  const auto before = authority_at(*run_.store, write.key);
  if (!before) return;
  const auto owner = owner_in_effect(*run_.store, *before);
  if (!owner) return;
  if (owner->rid != self) {
    // What was being created when the store forgot comes to nothing, whoever's it is.
    const bool is_forgotten = before->state == AuthorityState::Creating &&
                              before->reserved_in != location::StoreEpoch{} &&
                              before->reserved_in != run_.store->epoch();
    if (has_live_lease(*owner) && !is_forgotten) {
      complain(fmt::format("{} writes {}, which belongs to {}, whose lease stands live", client,
                           name, owner->rid.text));
    }
    return;
  }
  const bool is_another_life = written && written->object_generation != before->object_generation;
  if (is_another_life) check_new_life(*writer, *before, write);
}

// Over an own record: it must be a leftover.
void OwnedWritesChecker::check_new_life(const LiveProcess& writer, const AuthorityRecord& before,
                                        const location::Write& write) {
  const auto& holdings = writer.node->objects().core().lease->holdings();
  if (holdings.has(write.key, before.object_generation)) {
    complain(fmt::format("{} creates {} anew while generation {} lives there", writer.name(),
                         keys::printable(write.key), before.object_generation.value));
  }
}

}  // namespace spotmesh::testing
