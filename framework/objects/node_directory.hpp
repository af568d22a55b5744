// NodeDirectory: this node's picture of the others, and where they can be reached.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "location/directory.hpp"
#include "mesh/peers.hpp"

namespace spotmesh::objects {

class Core;

inline mesh::Peer peer_of(const location::OwnerStamp& stamp) {
  return {stamp.rid, stamp.lifecycle};
}

// Strand only, where nothing else is said.
class NodeDirectory final : public mesh::AddressBook {
 public:
  // On the strand, once for each run of a node that was read to be over for good.
  using Gone = std::function<void(const mesh::Peer&, const Error&)>;

  explicit NodeDirectory(Core& core);
  ~NodeDirectory() override;
  NodeDirectory(const NodeDirectory&) = delete;
  NodeDirectory& operator=(const NodeDirectory&) = delete;

  // Before the start.
  void on_gone(Gone told) { told_gone_.push_back(std::move(told)); }
  // This node holds its lease.
  void start();
  void stop();
  // Somebody has read that that run is over.
  void owner_over(const location::OwnerStamp& owner);

  // Any thread. Asking for a node that is not known makes it be looked for.
  std::optional<std::string> address_of(const mesh::Peer& peer) const override;
  // Any thread. It is looked for soon, if it is not known.
  void want(const NodeRid& node) const;

  // Whether all nodes have been seen once.
  bool is_complete() const;
  // Null when that run is not known, or gone.
  const location::NodeDescriptor* find(const mesh::Peer& peer) const;
  // All other nodes, by their RID.
  std::vector<const location::NodeDescriptor*> known() const;
  // Those that can be reached and are not known to have fallen silent.
  std::vector<const location::NodeDescriptor*> reachable() const;

 private:
  class Run;

  void know(const location::NodeDescriptor& node);
  void forget(const location::OwnerStamp& stamp);

  Core& core_;
  std::shared_ptr<Run> run_;
  std::vector<Gone> told_gone_;
  std::map<NodeRid, location::NodeDescriptor> nodes_;
  mutable std::mutex mutex_;  // the following
  std::map<mesh::Peer, std::string> addresses_;
  mutable std::set<NodeRid> wanted_;
};

}  // namespace spotmesh::objects
