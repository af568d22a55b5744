#include "testing/checkers/leftovers.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "location/keys.hpp"
#include "location/records.hpp"
#include "node/node.hpp"
#include "objects/core.hpp"
#include "objects/registry.hpp"
#include "testing/sim_store.hpp"

namespace spotmesh::testing {
namespace {

namespace keys = location::keys;

// The record of an object that is there, or is being made.
std::optional<location::AuthorityRecord> object_in(const std::string& key, const Bytes& value) {
  auto record = location::decode_authority(key, value);
  if (!record || record->state == location::AuthorityState::Vacant) return std::nullopt;
  return *std::move(record);
}

}  // namespace

void LeftoversChecker::on_commit(const SimStore&, std::string_view, const location::Commit& commit,
                                 Instant) {
  for (const location::Write& write : commit.writes) {
    if (!write.key.starts_with(keys::actor_prefix) && !write.key.starts_with(keys::spot_prefix)) {
      continue;
    }
    const auto record = write.value ? object_in(write.key, *write.value) : std::nullopt;
    if (record) {
      recorded_[write.key] = record->object_generation.value;
    } else {
      recorded_.erase(write.key);
    }
  }
}

void LeftoversChecker::on_fail_over(const SimStore& store) {
  const auto before = std::exchange(recorded_, {});
  for (const auto prefix : {keys::actor_prefix, keys::spot_prefix}) {
    for (const auto& entry : store.contents(prefix)) {
      const auto record = object_in(entry.key, entry.stored.value);
      if (!record) continue;
      const std::uint64_t generation = record->object_generation.value;
      const auto known = before.find(entry.key);
      if (known == before.end() || known->second != generation) {
        brought_back_.emplace(entry.key, generation);
      }
      recorded_.emplace(entry.key, generation);
    }
  }
}

void LeftoversChecker::look_at_rest() {
  for (const LiveProcess& process : run_.processes) {
    const bool has_stopped = process.node->state() == node::NodeState::Stopped;
    if (has_stopped || process.is_serving()) look_at(process);
  }
}

void LeftoversChecker::look_at(const LiveProcess& process) {
  const objects::Registry& registry = *process.node->objects().core().registry;
  std::set<std::pair<std::string, std::uint64_t>> living;
  for (const auto& actor : registry.actors()) {
    living.emplace(keys::actor(actor->id()), actor->generation().value);
  }
  for (const auto& spot : registry.spots()) {
    living.emplace(keys::spot(spot->id()), spot->generation().value);
  }
  // What a node that has stopped still holds in memory is no object any more.
  if (!process.is_serving()) living.clear();
  for (const auto prefix : {keys::actor_prefix, keys::spot_prefix}) {
    for (const auto& entry : run_.store->contents(prefix)) {
      const auto record = object_in(entry.key, entry.stored.value);
      if (!record || record->owner.rid != process.node->identity().rid) continue;
      const std::pair object(entry.key, record->object_generation.value);
      if (living.contains(object) || brought_back_.contains(object)) continue;
      complain(fmt::format("the store has {}, which {} has not got", keys::printable(entry.key),
                           process.name()));
    }
  }
}

}  // namespace spotmesh::testing
