// What may befall a cluster: clocks, paths, the store, clients, planted defects.
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>
#include <spotmesh/testing/cluster.hpp>

#include "location/keys.hpp"
#include "objects/core.hpp"
#include "objects/forced_end.hpp"
#include "testing/cluster_parts.hpp"

namespace spotmesh::testing {

void Cluster::step_clock(unsigned node, Duration by) {
  parts_->current(node).seams->clock().step(by);
}

void Cluster::set_clock_drift(unsigned node, std::int32_t ppm) {
  parts_->current(node).seams->clock().set_drift(ppm);
}

void Cluster::step_wall_clock(unsigned node, std::chrono::milliseconds by) {
  parts_->current(node).seams->clock().step_wall(by.count());
}

void Cluster::set_path_delay(unsigned from, unsigned to, Duration shortest, Duration longest) {
  parts_->paths[{from, to}].delay = {shortest, longest};
  parts_->apply_path(from, to);
}

void Cluster::block_path(unsigned from, unsigned to) {
  parts_->paths[{from, to}].is_blocked = true;
  parts_->apply_path(from, to);
}

void Cluster::unblock_path(unsigned from, unsigned to) {
  parts_->paths[{from, to}].is_blocked = false;
  parts_->apply_path(from, to);
}

void Cluster::cut_connections(unsigned a, unsigned b) {
  parts_->network.cut(*parts_->current(a).seams, *parts_->current(b).seams);
}

void Cluster::set_store_available(bool is_available) { parts_->store.set_available(is_available); }

void Cluster::set_store_available(unsigned node, bool is_available) {
  parts_->has_store.at(node) = is_available;
  const auto& client = parts_->current(node).store;
  if (client != nullptr) client->set_available(is_available);
}

void Cluster::set_store_latency(Duration shortest, Duration longest) {
  parts_->store.behavior().min_latency = shortest;
  parts_->store.behavior().max_latency = longest;
}

void Cluster::set_store_refusals(unsigned per_mille) {
  parts_->store.behavior().unavailable_per_mille = per_mille;
}

void Cluster::set_store_unknowns(unsigned per_mille) {
  parts_->store.behavior().unknown_per_mille = per_mille;
}

void Cluster::set_store_faults(unsigned unavailable_per_mille, unsigned unknown_per_mille) {
  set_store_refusals(unavailable_per_mille);
  set_store_unknowns(unknown_per_mille);
}

void Cluster::set_store_strays(unsigned per_mille, Duration by) {
  parts_->store.behavior().strays_per_mille = per_mille;
  parts_->store.behavior().stray_latency = by;
}

void Cluster::set_store_late_commits(unsigned per_mille, Duration by) {
  parts_->store.behavior().late_commits_per_mille = per_mille;
  parts_->store.behavior().late_commit_latency = by;
}

void Cluster::set_store_hints(unsigned lost_per_mille, unsigned repeated_per_mille,
                              Duration longest) {
  parts_->store.behavior().lost_hints_per_mille = lost_per_mille;
  parts_->store.behavior().repeated_hints_per_mille = repeated_per_mille;
  parts_->store.behavior().max_hint_delay = longest;
}

void Cluster::fail_over_store(Duration forgotten) {
  parts_->store.fail_over(forgotten);
  parts_->fail_overs.push_back({.at = elapsed(), .forgotten = forgotten});
}

const std::vector<Cluster::StoreFailOver>& Cluster::store_fail_overs() const {
  return parts_->fail_overs;
}

Result<void> Cluster::end_actor(unsigned node, std::string_view actor_id) {
  const auto id = ActorId::parse(actor_id);
  if (!id) throw std::invalid_argument(to_string(id.error()));
  Parts::Process& process = parts_->current(node);
  if (process.node == nullptr) {
    return fail(Error::unavailable(fmt::format("node {} does not run", node)));
  }
  std::optional<Result<void>> ended;
  objects::Core& core = process.node->objects().core();
  core.strand.post([&core, &ended, id = *id] {
    objects::end_by_force(core, id, core.now() + limits::default_operation_timeout,
                          [&ended](Result<void> result) { ended = std::move(result); });
  });
  const Duration limit = 2 * limits::default_operation_timeout;
  if (!run_until([&ended] { return ended.has_value(); }, limit)) {
    throw std::logic_error("the end of an Actor is not answered");
  }
  return *ended;
}

void Cluster::damage_record(std::string_view actor_id) {
  const auto id = ActorId::parse(actor_id);
  if (!id) throw std::invalid_argument(to_string(id.error()));
  parts_->store.plant(location::keys::actor(*id), Bytes(20, std::byte{0x5a}));
}

std::vector<std::shared_ptr<SimConnection>> Cluster::Parts::open_connections() const {
  std::vector<std::shared_ptr<SimConnection>> open;
  for (const auto& runs : slots) {
    for (auto& connection : runs.back()->links->open_connections()) {
      open.push_back(std::move(connection));
    }
  }
  return open;
}

std::size_t Cluster::open_clients() const { return parts_->open_connections().size(); }

void Cluster::trouble_client(std::size_t which, ClientTrouble trouble) {
  const auto connection = parts_->open_connections().at(which);
  switch (trouble) {
    case ClientTrouble::StopsReading:
      return connection->stop_reading();
    case ClientTrouble::FallsSilent:
      return connection->fall_silent();
    case ClientTrouble::Vanishes:
      return connection->vanish();
    case ClientTrouble::BreaksOff:
      return connection->reset();
  }
}

void Cluster::calm_clients() {
  for (const auto& connection : parts_->open_connections()) connection->start_reading();
}

void Cluster::plant_defect(std::string_view point, unsigned per_mille) {
  parts_->defects.insert_or_assign(std::string(point), per_mille);
  for (const auto& node : parts_->world.nodes()) node->faults().set_chance(point, per_mille);
}

std::uint64_t Cluster::defect_strikes(std::string_view point) const {
  std::uint64_t strikes = 0;
  for (const auto& node : parts_->world.nodes()) strikes += node->faults().strikes_of(point);
  return strikes;
}

}  // namespace spotmesh::testing
