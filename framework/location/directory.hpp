// The nodes of the cluster, as their descriptors in the store show them. What it costs, and the
// transition table, are in framework/docs/directory.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "location/beat_watch.hpp"
#include "location/lease_view.hpp"
#include "location/machine.hpp"
#include "location/records.hpp"

namespace spotmesh::location {

namespace directory {

// Events besides PageDone, ReadDone and TimerFired.
// This node holds its lease: look around. Once.
struct Start {};
struct Stop {};
// Something may have changed at `key`; keys::node_prefix itself: anywhere.
struct Hint {
  std::string key;
};
// Somebody needs to know of a node that is not known: it is looked for soon.
struct Wanted {
  NodeRid node;
};
// That run was read to be over: by BeatWatchMachine, or by whoever has read of it in an object's
// record or elsewhere.
struct OwnerOver {
  OwnerStamp owner;
};
using Event = std::variant<Start, Stop, Hint, Wanted, PageDone, ReadDone, TimerFired, OwnerOver>;

// Actions besides ScanKeys, ReadKeys, ArmTimer and CancelTimer.
// A node is new, or says something else than before. A node without a descriptor, whose lease is
// live, is told as Stopped: it can be reached, and takes nothing new.
struct NodeKnown {
  NodeDescriptor node;
};
// That run is over for good, whether it was known or not: it may have a mesh session all the same.
// Once, and nothing is told of it afterwards, until limits::mesh_ended_runs others have ended.
struct NodeGone {
  OwnerStamp stamp;
};
// Watch that owner's beat, so that somebody watches every node.
struct WatchOwner {
  OwnerStamp owner;
};
// The descriptor of a run that is over: delete it, if it still has this version.
struct RemoveDescriptor {
  std::string key;
  StoreVersion version;
};
// A record that cannot be used; the others are. Once for each of its versions.
struct BadRecord {
  Error error;
};
using Action = std::variant<ReadKeys, ArmTimer, CancelTimer, ScanKeys, NodeKnown, NodeGone,
                            WatchOwner, RemoveDescriptor, BadRecord>;
using Actions = std::vector<Action>;

// All descriptors are read again after so long, with jitter; for each node that is known it takes a
// little longer.
inline constexpr Duration poll_interval = std::chrono::seconds(10);
inline constexpr Duration poll_interval_per_node = std::chrono::milliseconds(30);
// What hints speak of is read at most so often.
inline constexpr Duration refresh_interval = std::chrono::milliseconds(250);
inline constexpr Duration refresh_interval_per_node = std::chrono::milliseconds(10);
// Nodes that follow this one in the order of their RIDs, and which it watches. One read watches 64
// owners, so these cost no more reads than one does; and in a cluster of up to so many nodes nobody
// has to wait until the owner of what he asks for is seen alive.
inline constexpr std::size_t watched_neighbours = 16;
inline constexpr std::size_t max_nodes = 4096;
inline constexpr std::size_t scan_page = 500;

}  // namespace directory

// One thing is under way at a time: a scan, or a read of single nodes.
class DirectoryMachine {
 public:
  // `lease` is this node's own (LeaseMachine::view()) and outlives the machine, as does `random`.
  DirectoryMachine(NodeRid own, const LeaseView& lease, Random& random);

  directory::Actions on_event(const directory::Event& event, Instant now);

  // Whether all of it has been seen once.
  bool is_complete() const { return is_complete_; }

 private:
  struct Node {
    NodeDescriptor descriptor;
    StoreVersion version;
    bool is_listed = true;      // its descriptor stands in the store
    std::uint64_t seen_in = 0;  // the last scan that showed it
  };
  using Nodes = std::map<std::string, Node, std::less<>>;

  void on(const directory::Start& event, Instant now);
  void on(const directory::Stop& event, Instant now);
  void on(const directory::Hint& event, Instant now);
  void on(const directory::Wanted& event, Instant now);
  void on(const PageDone& event, Instant now);
  void on(const ReadDone& event, Instant now);
  void on(const TimerFired& event, Instant now);
  void on(const directory::OwnerOver& event, Instant now);

  void scan(std::string cursor);
  void end_scan(Instant now);
  bool read_next();
  void retry_scan(Instant now);
  void go_on(Instant now);
  bool begin_refresh(std::set<std::string>& from, Instant& due, Instant now);
  Duration refresh_pace() const;

  void take(const std::string& key, const StoredValue& stored);
  // What stands at a node's key and at its lease's, in one reading.
  void take(const std::string& rid, const std::optional<StoredValue>& stored,
            const std::optional<StoredValue>& lease, const StoreEpoch& epoch, Instant now);
  void put(NodeDescriptor descriptor, const StoreVersion& version);
  void unlist(Node& node);
  void remove(Nodes::iterator node);
  void tell_gone(const OwnerStamp& stamp);
  void bad(const std::string& key, const StoreVersion& version, Error error);
  bool is_gone(const OwnerRun& run) const;
  void watch_neighbours();

  const NodeRid own_;
  const LeaseView& lease_;
  Random& random_;
  Nodes nodes_;
  std::set<OwnerRun> gone_;
  std::deque<OwnerRun> gone_in_order_;  // the latest last
  std::map<std::string, StoreVersion> bad_;

  bool is_started_ = false;
  bool is_complete_ = false;
  bool has_membership_changed_ = false;
  Ticket next_ticket_ = 1;
  Ticket awaited_ = 0;  // 0: nothing is under way
  std::uint64_t scan_ = 0;
  StoreEpoch scan_epoch_;
  std::vector<std::string> reading_;  // RIDs of the read under way
  std::deque<std::string> queue_;     // RIDs to be read next, without a pause
  std::set<std::string> wanted_;
  std::set<std::string> changed_;
  Instant scan_due_{};
  Instant wanted_due_{};
  Instant changed_due_{};
  directory::Actions actions_;
};

}  // namespace spotmesh::location
