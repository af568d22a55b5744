// RouteOrder: keeps what was sent to an id in order when its route changes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>

#include "mesh/peers.hpp"
#include "objects/sent_routes.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::objects {

class Core;

// Remembers along which route the last message to an id went, until it is known to have been taken
// there. A fence goes the same way behind it; its answer says so. Any thread unless it says
// otherwise.
class RouteOrder {
 public:
  explicit RouteOrder(Core& core);
  ~RouteOrder();

  // The lane to the peer has accepted a message for the id. What a turn says leaves at its end, and
  // counts as sent from then on.
  void sent(TargetKind kind, std::string_view id, const mesh::Peer& peer);
  // Whether the present turn has said something that has not left yet. (Others' does not matter:
  // order is kept for each gate.)
  bool has_unsaid() const;
  // Of all that was sent to the peer by now: to be confirmed by the answer to what is sent next.
  std::uint64_t position(const mesh::Peer& peer) const;
  void confirm(const mesh::Peer& peer, std::uint64_t position);
  // Where a message for the id may still be on its way to, or will be when the present turn ends.
  std::optional<mesh::Peer> former_route(TargetKind kind, std::string_view id) const;

  // Strand only, as is the answer: the peer has taken all that was sent to it before, or its run
  // is over; Unavailable when neither is known in time.
  void fence(const mesh::Peer& peer, std::function<void(Result<void>)> taken);

 private:
  class Unsaid;

  const Unsaid* unsaid_of_this_turn() const;
  std::optional<mesh::Peer> unless_over(std::optional<mesh::Peer> peer) const;
  void leave(Unsaid& unsaid);
  void note(TargetKind kind, std::string_view id, const mesh::Peer& peer);
  // Asks a peer now and then, so that what is remembered of it stays small.
  void ask(const mesh::Peer& peer, std::uint64_t position);

  Core& core_;
  mutable std::mutex mutex_;
  SentRoutes sent_;
  std::map<mesh::Peer, std::uint64_t> asked_;  // the position of the last ask()
  std::vector<std::pair<const runtime::Turn*, runtime::Ref<Unsaid>>> unsaid_;
  std::atomic<std::size_t> unsaid_turns_{0};
};

}  // namespace spotmesh::objects
