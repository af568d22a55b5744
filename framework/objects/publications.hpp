// Publications: brings what is published here to the subscribers of this node and of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "location/store.hpp"
#include "mesh/peers.hpp"
#include "objects/peer_message.hpp"
#include "objects/store_port.hpp"
#include "objects/topic_key.hpp"
#include "objects/topic_mark_run.hpp"
#include "objects/topic_reach.hpp"
#include "runtime/completion.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class Core;

// The first publication about a topic makes this node known as one that publishes about it, and
// learns which nodes have subscribers; those of later subscribers tell. From then on a publication
// costs the store nothing, until the topic has been idle for a while.
class Publications {
 public:
  using Accepted = runtime::Ref<runtime::Completion<Result<void>>>;

  explicit Publications(Core& core);
  ~Publications();

  // Any thread. `accepted` is told when it has been handed over, or why not, perhaps within the
  // call.
  void publish(const TopicKey& key, const Message& message, const Accepted& accepted);
  // Any thread. Ends all that wait.
  void refuse_all(const Error& error);

  // The rest is called on the strand.
  void on_reasserted();
  // That run of the node is over.
  void on_node_gone(const mesh::Peer& node);
  // For a clean stop to delete.
  void append_marks(std::vector<location::Condition>& records) const;

 private:
  using Nodes = std::vector<mesh::Peer>;
  class HeldBack;

  struct Waiting {
    Message message;
    Instant deadline;
    Accepted accepted;
  };
  // Whom publications about one topic go to; under the mutex.
  struct Audience {
    bool is_known = false;
    std::shared_ptr<const Nodes> nodes = std::make_shared<const Nodes>();
    std::deque<Waiting> waiting;  // while it is not known, and then until all have been sent
    Instant last_used{};
  };
  // How it is learned; strand only.
  struct Search {
    std::shared_ptr<TopicMarkRun> mark;
    std::size_t unreached = 0;  // marks that were read and whose nodes are being looked for
    std::uint64_t round = 0;
    std::set<mesh::Peer> left;  // have said since that they have no subscriber any more
    std::string delayed_by;
    std::unique_ptr<StrandTimer> deadline;
    std::vector<location::OwnerStamp> out_of_reach;  // subscribers that cannot be spoken to yet
    std::unique_ptr<StrandTimer> next_look;          // for them
  };

  Result<void> receive(const PeerMessage& message);
  Result<void> on_change(const PeerMessage& message);
  void correct(const mesh::Peer& publisher, TopicKey key);

  void start_search(const TopicKey& key);
  void on_standing(const TopicKey& key, const std::vector<location::OwnerStamp>& subscribers);
  void on_reach(const TopicKey& key, std::uint64_t round, const location::OwnerStamp& stamp,
                Reach reach);
  void take_reach(const TopicKey& key, Search& search, const location::OwnerStamp& stamp,
                  Reach reach);
  void look_again(const TopicKey& key);
  void on_cleared(const TopicKey& key);
  void learned(const TopicKey& key, Search& search);
  // Sends, in order, all that waits, also what comes while it is at it.
  void release_waiting(const TopicKey& key);
  void refuse_late(const TopicKey& key);
  void change(const TopicKey& key, const mesh::Peer& node, bool has_subscriber);
  void forget_idle();
  void send(const TopicKey& key, const Nodes& nodes, const Message& message);

  Core& core_;
  mutable std::mutex mutex_;
  std::map<TopicKey, Audience> audiences_;
  using Correction = std::pair<mesh::Peer, TopicKey>;
  // Nodes that are being told that nobody is here for what they publish.
  std::set<Correction> corrections_;

  std::map<TopicKey, Search> searches_;
  StrandTimer idle_timer_;
  bool looks_for_idle_ = false;
};

}  // namespace spotmesh::objects
