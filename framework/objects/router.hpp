// Router: brings messages to the mailbox, or to the node, of whom they are addressed to.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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
#include "objects/waiting_messages.hpp"
#include "runtime/ref_counted.hpp"

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
  ~Router();

  // The outcome goes to envelope.accepted or envelope.reply, perhaps within the call.
  void submit(Envelope envelope);
  // The way of most messages: to whoever lives here under the id, when nothing waits for any id.
  // Nothing: the envelope is untouched, and submit() has to see to it. Else as deliver().
  std::optional<Result<void>> submit_here(Envelope& envelope);

  // Straight to a mailbox of this node, which takes the message out of the envelope. When that
  // fails, nothing has been told to the sender.
  Result<void> deliver(ActorCell& actor, Envelope& envelope);
  Result<void> deliver(SpotCell& spot, Envelope& envelope);
  // The same of a message without an envelope.
  Result<void> deliver(ActorCell& actor, Message& message, std::optional<Instant> deadline,
                       ReplySink reply);
  // The same for whoever lives here under the id; nothing when nobody does.
  std::optional<Result<void>> try_deliver(Envelope& envelope);

  // The object is about to be found on this node. Strand only.
  void arrives(TargetKind kind, const std::string& id);

  // The store has a new epoch.
  void forget_routes();
  void forget_owner(const NodeRid& node);
  // That peer said that it does not have the id.
  void forget_stale(const mesh::Peer& owner, TargetKind kind, std::string_view id);
  // Ends all that wait for a resolve.
  void refuse_all(const Error& error);

 private:
  using Key = WaitingMessages::Key;
  struct Local;
  class HeldBack;
  // Whoever has been found to own an id, or why nobody was; nothing: the object is here.
  using Found = std::optional<Result<mesh::Peer>>;

  Local find_local(TargetKind kind, std::string_view id) const;
  Result<void> deliver(const Local& local, Envelope& envelope);
  // False when it must wait: no route is known, or what went along another must be taken first. The
  // envelope is untouched then.
  bool try_route(Envelope& envelope);
  void submit_remote(const mesh::Peer& owner, Envelope envelope);
  static void accept(Envelope& envelope, Result<void> result);
  std::optional<mesh::Peer> known_owner(TargetKind kind, std::string_view id);

  // Something waits for the key: it goes at once, or after a look-up. Strand only, as all that
  // follows.
  void see_to(const Key& key);
  void start_lookup(const Key& key);
  void on_found(const Key& key, Instant asked, const Result<location::FindOutcome>& outcome);
  void learn(const Key& key, Instant asked, const location::FindOutcome& found);
  // Releases what waits for the key once the owner's address is known, or will not be in time.
  void release_when_reachable(const Key& key, const mesh::Peer& owner, Instant until);
  // For owners that have not been reachable, and for what has not been taken elsewhere.
  void look_again();

  // Where messages for the key may still be on their way to, if they go elsewhere now.
  std::optional<mesh::Peer> former_route(const Key& key, const Found& found) const;
  // What waits for the key goes on waiting until the peer has taken what was sent to it before.
  void fence(const Key& key, const mesh::Peer& former);
  // Hands on, in order, all that waits for the key, also what comes while it is at it.
  void release_waiting(const Key& key, const Found& found);
  void refuse_waiting(const Key& key, const Error& error);
  // And nothing of the kind waits any more.
  void refuse_line(const Key& key, const Error& error);
  // This node may not say anything at the moment: what waits goes when it may again.
  void hold_back(const Key& key);
  void hand_on(Envelope envelope, const Found& found);

  Core& core_;
  RouteOrder order_;
  PeerMessages messages_;
  const runtime::Ref<WaitingMessages> waiting_;
  std::mutex mutex_;
  RouteCache routes_;

  struct Unreached {
    Key key;
    mesh::Peer owner;
    Instant until;
  };
  std::atomic<std::uint64_t> epochs_{0};
  // Strand only.
  std::vector<Unreached> unreached_;
  std::vector<Key>
      untaken_;  // of objects here: messages for them may still be on their way elsewhere
  StrandTimer look_timer_;
};

}  // namespace spotmesh::objects
