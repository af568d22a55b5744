// Router: brings messages to the mailbox, or to the node, of whom they are addressed to.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "location/find.hpp"
#include "mesh/peers.hpp"
#include "objects/envelope.hpp"
#include "objects/peer_messages.hpp"
#include "objects/route_cache.hpp"
#include "objects/route_order.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

class ActorCell;
class Core;
class SpotCell;

// Messages of one turn, and of one gate, to one id keep their order: while one of them waits for
// its id to be resolved, or for what went along a former route to be taken there, all later ones
// for that id wait behind it. Any thread. The table is framework/docs/messages.md.
class Router {
 public:
  explicit Router(Core& core);

  // The outcome goes to envelope.accepted or envelope.reply, perhaps within the call.
  void submit(Envelope envelope);

  // Straight to a mailbox of this node. When that fails, nothing has been told to the sender.
  Result<void> deliver(ActorCell& actor, const Envelope& envelope);
  Result<void> deliver(SpotCell& spot, const Envelope& envelope);
  // The same for whoever lives here under the id; nothing when nobody does.
  std::optional<Result<void>> try_deliver(const Envelope& envelope);

  // The object is about to be found on this node. Strand only.
  void arrives(TargetKind kind, const std::string& id);

  void forget_routes();
  void forget_owner(const NodeRid& node);
  // That peer said that it does not have the id.
  void forget_stale(const mesh::Peer& owner, TargetKind kind, std::string_view id);
  // Ends all that wait for a resolve.
  void refuse_all(const Error& error);

 private:
  using Key = std::pair<TargetKind, std::string>;
  struct Local;

  Local find_local(TargetKind kind, std::string_view id) const;
  Result<void> deliver(const Local& local, const Envelope& envelope);
  // Behind what waits for its id already. The envelope is taken then.
  bool join_queue(Envelope& envelope);
  // False when it must be resolved first; the envelope is untouched then.
  bool try_route(Envelope& envelope);
  void submit_remote(const mesh::Peer& owner, Envelope envelope);
  static void accept(Envelope& envelope, Result<void> result);
  // Whether it is the first, and the caller sees to that it does not wait for ever.
  bool wait(const Key& key, Envelope envelope);

  void resolve(Envelope envelope);
  void start_lookup(const Key& key, Instant deadline);
  void on_found(const Key& key, Instant asked, const Result<location::FindOutcome>& outcome);
  void learn(const Key& key, Instant asked, const location::FindOutcome& found);
  // Releases what waits for the key once the owner's address is known, or will not be in time.
  void release_when_reachable(const Key& key, const mesh::Peer& owner, Instant until);
  void look_for_owners();
  void remove_leftover(const Key& key, const location::FindOutcome& found);

  // Where messages for the key may still be on their way to, if they go elsewhere now.
  std::optional<mesh::Peer> former_route(const Key& key);
  // What waits for the key goes on waiting until the peer has taken what was sent to it before.
  void fence(const Key& key, const mesh::Peer& former);
  // Hands on, in order, all that waits for the key, also what comes while it is at it.
  void release_waiting(const Key& key, const std::optional<Error>& error);
  void refuse_waiting(const Key& key, const Error& error);
  // Nothing: no more waits for the key, and what comes now does not wait either.
  std::deque<Envelope> take_waiting(const Key& key);
  void hand_on(Envelope envelope, const std::optional<Error>& error);

  Core& core_;
  RouteOrder order_;
  PeerMessages messages_;
  std::atomic<std::size_t> waiting_keys_{0};
  std::mutex mutex_;
  std::map<Key, std::deque<Envelope>> waiting_;
  RouteCache routes_;

  struct Unreached {
    Key key;
    mesh::Peer owner;
    Instant until;
  };
  // Strand only.
  std::vector<Unreached> unreached_;
  StrandTimer look_timer_;
};

}  // namespace spotmesh::objects
