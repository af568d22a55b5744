// Forgetful: the tests' game on one node whose store forgets, and what stands in it then.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "checks.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"
#include "objects/capacity.hpp"
#include "objects/lease_driver.hpp"
#include "one_node.hpp"

namespace spotmesh::objects {

namespace keys = spotmesh::location::keys;

struct Forgetful {
  OneNode one;
  std::unique_ptr<testing::SimStore::Client> other = one.sim.store.connect("other");

  explicit Forgetful(std::function<void(ObjectServer&)> more = {}) : one(std::move(more)) {}

  std::optional<Bytes> get(const std::string& key) {
    for (const auto& entry : one.sim.store.contents(key)) {
      if (entry.key == key) return entry.stored.value;
    }
    return {};
  }
  std::optional<location::AuthorityRecord> actor(const std::string& id) {
    const std::string key = keys::actor(*ActorId::parse(id));
    const auto value = get(key);
    if (!value.has_value()) return {};
    return *location::decode_authority(key, *value);
  }
  // At once, as an operator's tool would.
  void put(const std::string& key, std::optional<Bytes> value) {
    const Duration latency = std::exchange(one.sim.store.behavior().max_latency, 50us);
    bool is_done = false;
    other->commit({.epoch = {}, .conditions = {}, .writes = {{key, std::move(value)}}},
                  [&](const location::CommitResult&) { is_done = true; });
    REQUIRE(one.sim.world.run_until([&] { return is_done; }, 5s) == testing::SimOutcome::Done);
    one.sim.store.behavior().max_latency = latency;
  }
  // What somebody else's life of that id would look like in the store.
  void usurp(const std::string& id) { usurp_key(keys::actor(*ActorId::parse(id))); }
  void usurp_spot(const std::string& id) { usurp_key(keys::spot(*SpotId::parse(id))); }
  void usurp_key(const std::string& key) {
    location::AuthorityRecord record = *location::decode_authority(key, *get(key));
    record.takeover_count += 1;
    record.object_generation.value += 7;
    record.owner.rid = NodeRid{"usurper"};
    record.owner.owner = *location::OwnerId::parse("usurper");
    record.membership.reset();
    put(key, encode(record));
  }
  std::uint64_t actors() {
    return one->core().capacity->actors(*one->core().application.find_mesh("play")).total();
  }
  bool serves(const std::string& id) {
    return one->request<probe::Answer>(id, probe::Ask{}).has_value();
  }
  const location::LeaseView& lease() { return one->core().lease->view(); }
};

}  // namespace spotmesh::objects
