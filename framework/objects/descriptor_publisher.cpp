#include "objects/descriptor_publisher.hpp"

#include <utility>

#include "location/authority.hpp"
#include "location/keys.hpp"
#include "objects/capacity.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

constexpr Duration rewrite_interval = std::chrono::seconds(5);

location::CapacityHint hint(const Capacity::Usage& usage, std::uint64_t limit) {
  return {.active = usage.active, .pending = usage.pending, .limit = limit};
}

location::MeshPart part_in(const MeshTypes& mesh, const Capacity& capacity) {
  location::MeshPart part;
  part.mesh = mesh.name;
  part.is_object_client = mesh.is_object_client;
  if (mesh.server == nullptr) return part;
  part.is_object_server = true;
  part.weight = mesh.server->placement_weight;
  part.pending_limit = mesh.server->pending_limit;
  part.actors = hint(capacity.actors(mesh), mesh.server->actor_limit);
  part.spots = hint(capacity.spots(mesh), mesh.server->spot_limit);
  for (const auto& [name, type] : mesh.actors) part.actor_types.push_back(type.name);
  for (const auto& [name, type] : mesh.spots) {
    part.spot_types.push_back(
        {*StableType::parse(name), capacity.spots(type).total(), type.model->limit});
  }
  return part;
}

}  // namespace

DescriptorPublisher::DescriptorPublisher(Core& core)
    : core_(core), timer_(core, [this] { on_timer(); }) {}

location::NodeDescriptor DescriptorPublisher::descriptor() const {
  location::NodeDescriptor node{.stamp = *core_.lease->view().stamp,
                                .is_stream_gateway = core_.config.is_stream_gateway,
                                .application_version = core_.config.application_version,
                                .state = state_,
                                .advertised_address = core_.config.advertised_address,
                                .meshes = {}};
  for (const auto& mesh : core_.application.meshes()) {
    if (mesh->has_object_role()) node.meshes.push_back(part_in(*mesh, *core_.capacity));
  }
  return node;
}

void DescriptorPublisher::publish(location::HostState state,
                                  std::function<void(Result<void>)> done) {
  state_ = state;
  write(std::move(done));
}

void DescriptorPublisher::write(std::function<void(Result<void>)> done) {
  if (is_writing_) {
    is_changed_ = true;
    return done({});
  }
  is_writing_ = true;
  const std::string key = location::keys::node(core_.identity.rid);
  location::NodeDescriptor wanted = descriptor();
  location::Commit commit = location::owned_commit(core_.lease->view());
  commit.conditions.push_back({key, version_});
  commit.writes.push_back({key, encode(wanted)});
  core_.operations->settle("descriptor of node " + core_.identity.rid.text, std::move(commit),
                           core_.now() + limits::default_operation_timeout,
                           [this, wanted = std::move(wanted),
                            done = std::move(done)](const location::SettleOutcome& outcome) {
                             is_writing_ = false;
                             Result<void> result;
                             if (outcome.kind == location::SettleOutcome::Kind::Applied) {
                               version_ = outcome.versions.front();
                               written_ = wanted;
                             } else {
                               result = fail(outcome.error.value_or(Error::unavailable(
                                   "the node's descriptor was changed by somebody else")));
                             }
                             timer_.arm(core_.now() + rewrite_interval);
                             done(result);
                             if (std::exchange(is_changed_, false))
                               write([](const Result<void>&) {});
                           });
}

void DescriptorPublisher::on_timer() {
  if (!core_.lease->view().is_held) return;
  if (written_ == descriptor()) {
    timer_.arm(core_.now() + rewrite_interval);
  } else {
    write([](const Result<void>&) {});
  }
}

}  // namespace spotmesh::objects
