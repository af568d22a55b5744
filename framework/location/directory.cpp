#include "location/directory.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "location/keys.hpp"

namespace spotmesh::location {

namespace {

// A node's descriptor and lease take two keys.
constexpr std::size_t nodes_per_read = max_keys_per_operation / 2;

std::string node_key(const std::string& rid) { return keys::node(NodeRid{rid}); }

// The run whose fence stands at the lease of that node.
std::optional<OwnerStamp> fenced_at(const std::string& rid,
                                    const std::optional<StoredValue>& lease) {
  const auto owner = OwnerId::parse(rid);
  if (!owner || !lease) return {};
  const auto record = decode_lease(keys::lease(*owner), lease->value);
  if (!record || record->state != LeaseState::Fenced || record->stamp.rid.text != rid) return {};
  return record->stamp;
}

// Whether what stands at its lease says that the run is over. A damaged lease says nothing.
bool is_over(const OwnerStamp& stamp, const std::optional<StoredValue>& lease) {
  OwnerReading reading;
  if (lease) {
    const auto record = decode_lease(keys::lease(stamp.owner), lease->value);
    if (!record) return false;
    reading.lease = *record;
    reading.lease_version = lease->version;
  }
  return is_over(run_of(stamp), reading);
}

}  // namespace

DirectoryMachine::DirectoryMachine(NodeRid own, const LeaseView& lease, Random& random)
    : own_(std::move(own)), lease_(lease), random_(random) {}

directory::Actions DirectoryMachine::on_event(const directory::Event& event, Instant now) {
  actions_.clear();
  std::visit([&](const auto& each) { on(each, now); }, event);
  if (std::exchange(has_membership_changed_, false)) watch_neighbours();
  if (is_started_ && awaited_ == 0) go_on(now);
  return std::move(actions_);
}

// Events.

void DirectoryMachine::on(const directory::Start&, Instant now) {
  is_started_ = true;
  scan_due_ = wanted_due_ = changed_due_ = now;
}

void DirectoryMachine::on(const directory::Stop&, Instant) {
  is_started_ = false;
  awaited_ = 0;
  actions_.push_back(CancelTimer{});
}

void DirectoryMachine::on(const directory::Hint& event, Instant) {
  if (event.key.size() > keys::node_prefix.size() && changed_.size() < directory::max_nodes) {
    const std::string rid = event.key.substr(keys::node_prefix.size());
    if (rid != own_.text) changed_.insert(rid);
  } else {
    scan_due_ = std::min(scan_due_, changed_due_);
  }
}

void DirectoryMachine::on(const directory::Wanted& event, Instant) {
  if (event.node != own_ && wanted_.size() < nodes_per_read) wanted_.insert(event.node.text);
}

void DirectoryMachine::on(const directory::OwnerOver& event, Instant) {
  const auto node = nodes_.find(event.owner.rid.text);
  if (node != nodes_.end() && node->second.descriptor.stamp == event.owner) return remove(node);
  tell_gone(event.owner);
}

void DirectoryMachine::on(const TimerFired&, Instant) {}

void DirectoryMachine::on(const PageDone& event, Instant now) {
  if (event.ticket != awaited_) return;
  awaited_ = 0;
  if (!event.page || (scan_epoch_ != StoreEpoch{} && event.page->epoch != scan_epoch_)) {
    return retry_scan(now);
  }
  scan_epoch_ = event.page->epoch;
  for (const ScanEntry& entry : event.page->entries) take(entry.key, entry.stored);
  if (!event.page->next.empty()) return scan(event.page->next);
  end_scan(now);
}

void DirectoryMachine::on(const ReadDone& event, Instant now) {
  if (event.ticket != awaited_) return;
  awaited_ = 0;
  const auto read = std::exchange(reading_, {});
  if (!event.result) {
    changed_.insert(read.begin(), read.end());
    changed_.insert(queue_.begin(), queue_.end());
    queue_.clear();
    changed_due_ = std::max(changed_due_, now + refresh_pace());
    return;
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    take(read[i], event.result->values.at(2 * i), event.result->values.at(2 * i + 1),
         event.result->epoch, now);
  }
}

// What is to be done next.

void DirectoryMachine::go_on(Instant now) {
  if (!queue_.empty() && read_next()) return;
  if (now >= scan_due_) {
    // What was said to have changed is read with the rest.
    wanted_.clear();
    changed_.clear();
    ++scan_;
    scan_epoch_ = {};
    changed_due_ = now + refresh_pace();
    return scan({});
  }
  if (begin_refresh(wanted_, wanted_due_, now)) {
    wanted_due_ = now + directory::refresh_interval;
    if (read_next()) return;
  }
  if (begin_refresh(changed_, changed_due_, now)) {
    changed_due_ = now + refresh_pace();
    if (read_next()) return;
  }
  Instant due = scan_due_;
  if (!wanted_.empty()) due = std::min(due, wanted_due_);
  if (!changed_.empty()) due = std::min(due, changed_due_);
  actions_.push_back(ArmTimer{due});
}

bool DirectoryMachine::begin_refresh(std::set<std::string>& from, Instant& due, Instant now) {
  if (from.empty() || now < due) return false;
  queue_.assign(from.begin(), from.end());
  from.clear();
  return true;
}

Duration DirectoryMachine::refresh_pace() const {
  return directory::refresh_interval +
         directory::refresh_interval_per_node * static_cast<Duration::rep>(nodes_.size());
}

void DirectoryMachine::scan(std::string cursor) {
  awaited_ = next_ticket_++;
  actions_.push_back(
      ScanKeys{awaited_, std::string(keys::node_prefix), std::move(cursor), directory::scan_page});
}

void DirectoryMachine::retry_scan(Instant now) { scan_due_ = now + refresh_pace(); }

void DirectoryMachine::end_scan(Instant now) {
  is_complete_ = true;
  for (const auto& [rid, node] : nodes_) {
    if (node.seen_in != scan_) queue_.push_back(rid);
  }
  const Duration whole = directory::poll_interval + directory::poll_interval_per_node *
                                                        static_cast<Duration::rep>(nodes_.size());
  // Nodes that started together do not stay together.
  const auto spread = static_cast<std::uint64_t>(whole.count() / 4) + 1;
  scan_due_ = now + whole - Duration(static_cast<Duration::rep>(random_below(random_, spread)));
  has_membership_changed_ = true;
}

// False when there is nothing to read: what is no id of a node has no lease, and is left to the
// look round.
bool DirectoryMachine::read_next() {
  ReadKeys action{.ticket = next_ticket_++, .keys = {}};
  while (!queue_.empty() && reading_.size() < nodes_per_read) {
    const std::string rid = std::move(queue_.front());
    queue_.pop_front();
    const auto owner = OwnerId::parse(rid);
    if (!owner) continue;
    action.keys.push_back(node_key(rid));
    action.keys.push_back(keys::lease(*owner));
    reading_.push_back(rid);
  }
  if (reading_.empty()) return false;
  awaited_ = action.ticket;
  actions_.push_back(std::move(action));
  return true;
}

// What the store shows.

void DirectoryMachine::take(const std::string& key, const StoredValue& stored) {
  const std::string rid = key.substr(keys::node_prefix.size());
  if (rid == own_.text) return;
  // Also one that cannot be read is there.
  const auto known = nodes_.find(rid);
  if (known != nodes_.end()) known->second.seen_in = scan_;
  auto descriptor = decode_node(key, stored.value);
  if (!descriptor) return bad(key, stored.version, descriptor.error());
  const OwnerStamp& stamp = descriptor->stamp;
  if (stamp.rid.text != rid || stamp.owner.text() != rid) {
    return bad(key, stored.version,
               Error::data_lost(fmt::format("{} speaks of node '{}'", keys::printable(key),
                                            keys::printable(stamp.rid.text))));
  }
  if (known == nodes_.end() && nodes_.size() >= directory::max_nodes) {
    return bad(key, stored.version,
               Error::capacity_exceeded(fmt::format("{}: {} nodes are known already",
                                                    keys::printable(key), directory::max_nodes)));
  }
  bad_.erase(key);
  put(*std::move(descriptor), stored.version);
}

void DirectoryMachine::take(const std::string& rid, const std::optional<StoredValue>& stored,
                            const std::optional<StoredValue>& lease, const StoreEpoch& epoch,
                            Instant now) {
  if (stored) take(node_key(rid), *stored);
  const auto node = nodes_.find(rid);
  if (node == nodes_.end()) {
    if (const auto fenced = fenced_at(rid, lease)) tell_gone(*fenced);
    return;
  }
  // In a store that has forgotten, what is not there may come back until its owners have spoken.
  const bool is_settled = lease_.is_held && epoch == lease_.epoch && now >= lease_.quiet_until;
  if (is_settled && is_over(node->second.descriptor.stamp, lease)) return remove(node);
  if (!stored) unlist(node->second);
}

void DirectoryMachine::put(NodeDescriptor descriptor, const StoreVersion& version) {
  const std::string rid = descriptor.stamp.rid.text;
  if (is_gone(run_of(descriptor.stamp))) {
    actions_.push_back(directory::RemoveDescriptor{node_key(rid), version});
    return;
  }
  auto known = nodes_.find(rid);
  if (known != nodes_.end() && known->second.descriptor.stamp != descriptor.stamp) {
    known->second.is_listed = false;
    remove(known);
    known = nodes_.end();
  }
  if (known == nodes_.end()) {
    has_membership_changed_ = true;
    nodes_.emplace(
        rid,
        Node{.descriptor = descriptor, .version = version, .is_listed = true, .seen_in = scan_});
    actions_.push_back(directory::NodeKnown{std::move(descriptor)});
    return;
  }
  Node& node = known->second;
  node.version = version;
  if (std::exchange(node.is_listed, true) && node.descriptor == descriptor) return;
  node.descriptor = std::move(descriptor);
  actions_.push_back(directory::NodeKnown{node.descriptor});
}

void DirectoryMachine::unlist(Node& node) {
  if (!std::exchange(node.is_listed, false)) return;
  node.descriptor.state = HostState::Stopped;
  actions_.push_back(directory::NodeKnown{node.descriptor});
}

void DirectoryMachine::remove(Nodes::iterator node) {
  const Node& each = node->second;
  if (each.is_listed) {
    actions_.push_back(directory::RemoveDescriptor{node_key(node->first), each.version});
  }
  tell_gone(each.descriptor.stamp);
  has_membership_changed_ = true;
  nodes_.erase(node);
}

void DirectoryMachine::tell_gone(const OwnerStamp& stamp) {
  if (stamp.rid == own_ || is_gone(run_of(stamp))) return;
  actions_.push_back(directory::NodeGone{stamp});
  gone_.insert(run_of(stamp));
  gone_in_order_.push_back(run_of(stamp));
  if (gone_.size() <= limits::mesh_ended_runs) return;
  gone_.erase(gone_in_order_.front());
  gone_in_order_.pop_front();
}

void DirectoryMachine::bad(const std::string& key, const StoreVersion& version, Error error) {
  const auto known = bad_.find(key);
  if (known != bad_.end() && known->second == version) return;
  if (bad_.size() >= directory::max_nodes) bad_.clear();
  bad_[key] = version;
  actions_.push_back(directory::BadRecord{std::move(error)});
}

bool DirectoryMachine::is_gone(const OwnerRun& run) const { return gone_.contains(run); }

void DirectoryMachine::watch_neighbours() {
  if (nodes_.empty()) return;
  auto next = nodes_.upper_bound(own_.text);
  for (std::size_t i = 0; i < std::min(directory::watched_neighbours, nodes_.size()); ++i) {
    if (next == nodes_.end()) next = nodes_.begin();
    actions_.push_back(directory::WatchOwner{next->second.descriptor.stamp});
    ++next;
  }
}

}  // namespace spotmesh::location
