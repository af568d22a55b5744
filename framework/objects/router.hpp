// Router: brings messages to the mailbox, or to the node, of whom they are addressed to.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "location/find.hpp"
#include "objects/envelope.hpp"
#include "objects/route_cache.hpp"

namespace spotmesh::objects {

class ActorCell;
class Core;
class SpotCell;

// Messages of one turn, and of one gate, to one id keep their order: while one of them waits for
// its id to be resolved, all later ones for that id wait behind it. Any thread.
class Router {
 public:
  explicit Router(Core& core);

  // The outcome goes to envelope.accepted or envelope.reply, perhaps within the call.
  void submit(Envelope envelope);

  // Straight to a mailbox of this node. When that fails, nothing has been told to the sender.
  Result<void> deliver(ActorCell& actor, const Envelope& envelope);
  Result<void> deliver(SpotCell& spot, const Envelope& envelope);

  void forget_routes();
  void forget_owner(const NodeRid& node);
  // The owner answered that it no longer has the id.
  void forget_route(TargetKind kind, std::string_view id);
  // Ends all that wait for a resolve.
  void refuse_all(const Error& error);

 private:
  using Key = std::pair<TargetKind, std::string>;

  // False when it must be resolved first; the envelope is untouched then.
  bool try_local(Envelope& envelope);
  bool try_route(Envelope& envelope);
  void resolve(Envelope envelope);
  void start_lookup(const Key& key, Instant deadline);
  void on_found(const Key& key, const Result<location::FindOutcome>& outcome);
  void learn(const Key& key, const location::FindOutcome& found);
  void remove_leftover(const Key& key, const location::FindOutcome& found);
  // Hands on, in order, all that waits for the key, also what comes while it is at it.
  void release_waiting(const Key& key, const std::optional<Error>& error);
  void hand_on(Envelope envelope, const std::optional<Error>& error);
  void submit_remote(const Route& route, Envelope envelope);
  static void accept(Envelope& envelope, Result<void> result);

  Core& core_;
  std::atomic<std::size_t> waiting_keys_{0};
  std::mutex mutex_;
  std::map<Key, std::deque<Envelope>> waiting_;
  RouteCache routes_;
};

}  // namespace spotmesh::objects
