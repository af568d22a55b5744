// Subscribers: which Spots of this node have subscribed to what.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>

#include "objects/spot_cell.hpp"
#include "objects/topic_key.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class Core;

// A Spot's subscriptions are those of its class: they begin when it can be found and die with it.
// Any thread; changed on the strand alone.
class Subscribers {
 public:
  explicit Subscribers(Core& core) : core_(core) {}

  void add(SpotCell& spot);
  // Takes no publication any more. Of a Spot that is not here: nothing.
  void remove(const SpotCell& spot);
  void clear();

  // Into the mailbox of each. One that is full misses it, which is logged and counted. False: the
  // topic has no subscriber here.
  bool deliver(const TopicKey& key, const Message& message);

 private:
  // In the order of their ids, so that simulated runs repeat themselves.
  using Spots = std::map<SpotId, runtime::Ref<SpotCell>>;

  std::vector<runtime::Ref<SpotCell>> spots_of(const TopicKey& key) const;
  void push(SpotCell& spot, const std::shared_ptr<const TopicKey>& key, const Message& message);

  Core& core_;
  mutable std::mutex mutex_;
  std::map<TopicKey, Spots> by_topic_;
};

}  // namespace spotmesh::objects
