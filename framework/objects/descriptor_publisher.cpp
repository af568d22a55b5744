#include "objects/descriptor_publisher.hpp"

#include <utility>

#include "location/authority.hpp"
#include "location/keys.hpp"
#include "objects/capacity.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/placing.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

constexpr Duration rewrite_interval = std::chrono::seconds(5);
constexpr Duration retry_pause = std::chrono::milliseconds(200);

// Before it has a lease, a node owns nothing, but is itself.
location::OwnerStamp stamp_of(const Core& core) {
  if (const auto& held = core.lease->view().stamp) return *held;
  return {.owner = *location::OwnerId::parse(core.identity.rid.text),
          .lease_generation = {},
          .rid = core.identity.rid,
          .lifecycle = core.identity.lifecycle};
}

}  // namespace

location::NodeDescriptor describe(const Core& core) {
  location::NodeDescriptor node{.stamp = stamp_of(core),
                                .is_stream_gateway = core.config.is_stream_gateway,
                                .application_version = core.config.application_version,
                                .state = location::HostState::Preparing,
                                .advertised_address = core.advertised_address,
                                .meshes = {}};
  for (const auto& mesh : core.application.meshes()) {
    if (mesh->has_object_role()) node.meshes.push_back(part_in(core, *mesh));
  }
  return node;
}

DescriptorPublisher::DescriptorPublisher(Core& core)
    : core_(core), timer_(core, [this] { look(); }) {}

location::NodeDescriptor DescriptorPublisher::descriptor() const {
  location::NodeDescriptor node = describe(core_);
  node.state = state_;
  return node;
}

void DescriptorPublisher::publish(location::HostState state,
                                  std::function<void(Result<void>)> done) {
  state_ = state;
  tell({});
  done_ = std::move(done);
  look();
}

void DescriptorPublisher::tell(Result<void> result) {
  if (auto done = std::exchange(done_, nullptr)) done(std::move(result));
}

void DescriptorPublisher::stop() {
  is_stopped_ = true;
  timer_.cancel();
  tell(fail(Error::unavailable("the node ended before its descriptor was written")));
}

void DescriptorPublisher::reassert() {
  written_.reset();
  must_read_ = true;
  look();
}

// Writes it if it has changed; one thing at a time.
void DescriptorPublisher::look() {
  if (is_stopped_ || is_busy_ || !core_.lease->view().is_held) return;
  if (must_read_) return read();
  location::NodeDescriptor wanted = descriptor();
  if (written_ == wanted) return timer_.arm(core_.now() + rewrite_interval);
  write(std::move(wanted));
}

void DescriptorPublisher::read() {
  is_busy_ = true;
  core_.store->read({location::keys::node(core_.identity.rid)},
                    [this](const Result<location::ReadResult>& result) {
                      is_busy_ = false;
                      if (is_stopped_) return;
                      if (!result || result->epoch != core_.lease->view().epoch) {
                        return timer_.arm(core_.now() + retry_pause);
                      }
                      must_read_ = false;
                      const auto& stored = result->values.at(0);
                      version_ = stored ? std::optional(stored->version) : std::nullopt;
                      look();
                    });
}

void DescriptorPublisher::write(location::NodeDescriptor wanted) {
  is_busy_ = true;
  const std::string key = location::keys::node(core_.identity.rid);
  location::Commit commit = location::owned_commit(core_.lease->view());
  commit.conditions.push_back({key, version_});
  commit.writes.push_back({key, encode(wanted)});
  core_.operations->settle(
      "descriptor of node " + core_.identity.rid.text, std::move(commit),
      core_.now() + limits::default_operation_timeout,
      [this, wanted = std::move(wanted)](const location::SettleOutcome& outcome) mutable {
        on_settled(std::move(wanted), outcome);
      });
}

void DescriptorPublisher::on_settled(location::NodeDescriptor wanted,
                                     const location::SettleOutcome& outcome) {
  is_busy_ = false;
  if (is_stopped_) return;
  if (outcome.kind != location::SettleOutcome::Kind::Applied) {
    // Another version, or another epoch: the key is this run's alone, so it is only read again.
    must_read_ = true;
    return timer_.arm(core_.now() + retry_pause);
  }
  version_ = outcome.versions.front();
  written_ = std::move(wanted);
  if (written_->state == state_) tell({});
  look();
}

}  // namespace spotmesh::objects
