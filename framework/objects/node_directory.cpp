#include "objects/node_directory.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "location/authority.hpp"
#include "location/keys.hpp"
#include "objects/core.hpp"
#include "objects/inspection.hpp"
#include "objects/lease_driver.hpp"
#include "objects/machine_driver.hpp"
#include "objects/router.hpp"
#include "objects/store_operations.hpp"
#include "objects/strand_link.hpp"

namespace spotmesh::objects {

class NodeDirectory::Run final : public MachineDriver<Run, location::directory::Event> {
 public:
  Run(Core& core, NodeDirectory& directory)
      : MachineDriver(core),
        directory_(directory),
        machine_(core.identity.rid, core.lease->view(), core.seams.random) {}

  location::DirectoryMachine& machine() { return machine_; }

  void perform(location::directory::NodeKnown& action) { directory_.know(action.node); }
  void perform(location::directory::NodeGone& action) { directory_.forget(action.stamp); }
  void perform(location::directory::WatchOwner& action) {
    core_.lease->watch(std::move(action.owner));
  }
  void perform(location::directory::BadRecord& action) {
    core_.log(LogLevel::Warning, "a node's descriptor cannot be used: " + action.error.message());
  }
  // Many nodes may try at once; whoever comes second finds nothing.
  void perform(location::directory::RemoveDescriptor& action) {
    if (!core_.lease->view().may_create(core_.now())) return;
    core_.operations->settle(
        "removing " + location::keys::printable(action.key),
        location::remove_object(core_.lease->view(), action.key, action.version),
        core_.now() + limits::default_operation_timeout, [](const location::SettleOutcome&) {});
  }

 private:
  NodeDirectory& directory_;
  location::DirectoryMachine machine_;
};

NodeDirectory::NodeDirectory(Core& core) : core_(core), run_(std::make_shared<Run>(core, *this)) {}

NodeDirectory::~NodeDirectory() = default;

void NodeDirectory::start() {
  core_.store->watch(std::string(location::keys::node_prefix), [this](std::string_view key) {
    run_->feed(location::directory::Hint{std::string(key)});
  });
  run_->feed(location::directory::Start{});
}

void NodeDirectory::stop() { run_->feed(location::directory::Stop{}); }

void NodeDirectory::owner_over(const location::OwnerStamp& owner) {
  run_->feed(location::directory::OwnerOver{owner});
}

std::optional<std::string> NodeDirectory::address_of(const mesh::Peer& peer) const {
  {
    std::lock_guard lock(mutex_);
    const auto found = addresses_.find(peer);
    if (found != addresses_.end()) return found->second;
  }
  want(peer.node);
  return std::nullopt;
}

void NodeDirectory::want(const NodeRid& node) const {
  {
    std::lock_guard lock(mutex_);
    // One that cannot be taken now is asked for again.
    if (wanted_.size() >= location::max_keys_per_operation || !wanted_.insert(node).second) return;
  }
  core_.link->post([this, node](Core&) {
    {
      std::lock_guard lock(mutex_);
      wanted_.erase(node);
    }
    run_->feed(location::directory::Wanted{node});
  });
}

bool NodeDirectory::is_complete() const { return run_->machine().is_complete(); }

const location::NodeDescriptor* NodeDirectory::find(const mesh::Peer& peer) const {
  const auto found = nodes_.find(peer.node);
  const bool is_known = found != nodes_.end() && found->second.stamp.lifecycle == peer.lifecycle;
  return is_known ? &found->second : nullptr;
}

std::vector<const location::NodeDescriptor*> NodeDirectory::known() const {
  std::vector<const location::NodeDescriptor*> found;
  found.reserve(nodes_.size());
  for (const auto& [rid, node] : nodes_) found.push_back(&node);
  return found;
}

std::vector<const location::NodeDescriptor*> NodeDirectory::reachable() const {
  using location::OwnerVerdict;
  const location::BeatWatchMachine& owners = core_.lease->environment().owners;
  std::vector<const location::NodeDescriptor*> found;
  for (const auto& [rid, node] : nodes_) {
    const OwnerVerdict verdict = owners.verdict(location::run_of(node.stamp), core_.now());
    const bool is_dead = verdict == OwnerVerdict::Silent || verdict == OwnerVerdict::Fenced;
    if (!node.advertised_address.empty() && !is_dead) found.push_back(&node);
  }
  return found;
}

void NodeDirectory::know(const location::NodeDescriptor& node) {
  const location::NodeDescriptor* before = find(peer_of(node.stamp));
  if (before == nullptr || before->state != node.state) {
    core_.emit("node.known", node.stamp.rid.text,
               {{"state", std::string(name_of(node.state))}, {"address", node.advertised_address}});
  }
  nodes_.insert_or_assign(node.stamp.rid, node);
  std::lock_guard lock(mutex_);
  if (node.advertised_address.empty()) {
    addresses_.erase(peer_of(node.stamp));
  } else {
    addresses_.insert_or_assign(peer_of(node.stamp), node.advertised_address);
  }
}

void NodeDirectory::forget(const location::OwnerStamp& stamp) {
  if (find(peer_of(stamp)) != nullptr) nodes_.erase(stamp.rid);
  {
    std::lock_guard lock(mutex_);
    addresses_.erase(peer_of(stamp));
  }
  core_.emit("node.gone", stamp.rid.text);
  core_.router->forget_owner(stamp.rid);
  const Error reason = Error::unavailable(
      fmt::format("this run of node {} is over: it has no lease any more", stamp.rid.text));
  for (const Gone& told : told_gone_) told(peer_of(stamp), reason);
}

}  // namespace spotmesh::objects
