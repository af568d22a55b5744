// Subscriptions: which topics this node has subscribers of, and that all who publish about them
// know it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "location/store.hpp"
#include "mesh/peers.hpp"
#include "objects/topic_key.hpp"
#include "objects/topic_mark_run.hpp"

namespace spotmesh::objects {

class Core;
class SpotCell;
class SubscriptionNotice;

// Strand only.
class Subscriptions {
 public:
  explicit Subscriptions(Core& core) : core_(core) {}
  ~Subscriptions();

  // The Spot is about to be found: `done` is called, perhaps within the call, once what is
  // published from then on will reach this node. Not after end().
  void announce(const SpotCell& spot, std::function<void()> done);
  // It can be found: it gets what is published.
  void begin(SpotCell& spot);
  // It has ended, or will never be. Its mailbox is closed in the same breath.
  void end(const SpotCell& spot);

  // A publication from there met nobody: say so, if that is true. `done` is called, perhaps within
  // the call, when the publisher has seen it or cannot.
  void correct(const mesh::Peer& publisher, const TopicKey& key, std::function<void()> done);
  void on_reasserted();
  // For a clean stop to delete.
  void append_marks(std::vector<location::Condition>& records) const;

 private:
  // A Spot that has announced itself; `done` while it waits.
  struct Announced {
    std::size_t unknown_topics = 0;
    std::function<void()> done;
  };
  struct Interest {
    std::size_t spots = 0;
    std::shared_ptr<TopicMarkRun> mark;
    bool is_known = false;  // to all who publish
    std::map<mesh::Peer, std::shared_ptr<SubscriptionNotice>> notices;
    std::vector<std::weak_ptr<Announced>> waiting;
  };

  void hold(const TopicKey& key, const std::shared_ptr<Announced>& announced);
  void let_go(const TopicKey& key);
  void on_standing(const TopicKey& key, const std::vector<location::OwnerStamp>& publishers);
  void on_cleared(const TopicKey& key, const std::vector<location::OwnerStamp>& publishers);
  void look(const TopicKey& key);

  Core& core_;
  std::map<TopicKey, Interest> interests_;
  std::map<const SpotCell*, std::shared_ptr<Announced>> announced_;
};

}  // namespace spotmesh::objects
