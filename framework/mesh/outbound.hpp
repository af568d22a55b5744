// Outbound: what this node says to its peers, gathered per turn and bounded per peer and lane.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

#include "mesh/ended_runs.hpp"
#include "mesh/lanes.hpp"
#include "mesh/options.hpp"
#include "mesh/peers.hpp"
#include "mesh/session_machine.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::mesh {

// Any thread. What is said on a turn becomes ready when that turn ends or waits: turns whose end is
// held back by Admission hold back what they said and nothing else, and what a fence drops was
// never said. What is said outside a turn is ready at once.
class Outbound final : public runtime::RefCounted {
 public:
  using Ready = std::map<Peer, std::vector<session::Outgoing>>;

  // Told that something is ready, when nothing was before; under no lock.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_ready() = 0;
  };

  // `addresses` and `owner` outlive it until detach().
  Outbound(Peer self, const MeshOptions& options, const AddressBook& addresses, Owner& owner);

  // As Peers::send().
  Result<void> send(const Peer& to, Lane lane, SharedBytes message);
  // All that is ready, per peer in the order in which it became so.
  Ready take_ready();
  // A peer has come by itself: its address need not be known.
  void note_session(const Peer& peer);
  // The peer has taken messages: there is room for others.
  void credit(const Peer& peer, Lane lane, const LaneCredit& credit);
  // The handshake with the peer is refused, for this reason; empty: no more.
  void note_refusal(const Peer& peer, std::string reason);

  // No message to that run, and none from it, from now on. True when it was not over before.
  bool end(const Peer& peer);
  bool is_over(const Peer& peer) const;
  // Before each message that is taken from the peer: false when nothing is taken from it any more.
  bool note_taken(const Peer& peer);
  // Its session is over, and all that is held for it is dropped. Whether it has carried anything.
  bool close(const Peer& peer);

  // This node is stopping: nothing is accepted any more.
  void stop();
  std::vector<Peer> peers() const;
  // The owner is told nothing any more, and nothing is gathered.
  void detach();

 private:
  class Batch;
  struct LaneUse {
    std::size_t messages = 0;
    std::size_t bytes = 0;
  };
  struct Account {
    std::array<LaneUse, lane_count> lanes{};
    bool has_carried = false;
    std::string refusal;
  };
  using Batches = std::vector<std::pair<const runtime::Turn*, runtime::Ref<Batch>>>;

  ~Outbound() override;

  Result<void> check(const Peer& to, Lane lane, std::size_t size) const;
  bool is_known(const Peer& peer) const;
  Error full_error(const Peer& to, Lane lane, const Account& account) const;
  Result<Account*> account_locked(const Peer& to);
  Batch& batch_of_locked(const runtime::Turn& turn);
  void flush(Batch& batch);
  // Whether on_ready() is due.
  bool add_ready_locked(const Peer& to, session::Outgoing message);

  const Peer self_;
  const std::array<LaneBound, lane_count> bounds_;
  const AddressBook& addresses_;

  mutable std::mutex mutex_;
  Owner* owner_;
  bool is_stopping_ = false;
  std::map<Peer, Account> accounts_;
  EndedRuns ended_;
  Ready ready_;
  Batches batches_;
};

}  // namespace spotmesh::mesh
