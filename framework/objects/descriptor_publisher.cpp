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

const MeshTypes* first_object_mesh(const FrozenApplication& application) {
  for (const auto& mesh : application.meshes()) {
    if (mesh->has_object_role()) return mesh.get();
  }
  return nullptr;
}

}  // namespace

DescriptorPublisher::DescriptorPublisher(Core& core)
    : core_(core), timer_(core, [this] { on_timer(); }) {}

location::NodeDescriptor DescriptorPublisher::descriptor() const {
  location::NodeDescriptor node{.stamp = *core_.lease->view().stamp,
                                .application_version = core_.config.application_version,
                                .state = state_,
                                .advertised_address = core_.config.advertised_address};
  node.roles.is_stream_gateway = core_.config.is_stream_gateway;
  const MeshTypes* mesh = first_object_mesh(core_.application);
  if (mesh == nullptr) return node;
  node.mesh = mesh->name;
  node.roles.is_object_client = mesh->is_object_client;
  if (mesh->server == nullptr) return node;
  node.roles.is_object_server = true;
  node.weight = mesh->server->placement_weight;
  node.actors = hint(core_.capacity->actors(*mesh), mesh->server->actor_limit);
  node.spots = hint(core_.capacity->spots(*mesh), mesh->server->spot_limit);
  for (const auto& [name, type] : mesh->actors) node.actor_types.push_back(type.name);
  for (const auto& [name, type] : mesh->spots) node.spot_types.push_back(*StableType::parse(name));
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

std::optional<location::Write> DescriptorPublisher::removal() const {
  if (!version_.has_value()) return {};
  return location::Write{location::keys::node(core_.identity.rid), std::nullopt};
}

}  // namespace spotmesh::objects
