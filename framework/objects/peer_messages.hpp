// PeerMessages: what games say to objects of other nodes, and what other nodes' games say to ours.
#pragma once

#include <functional>

#include <spotmesh/error.hpp>

#include "mesh/peers.hpp"
#include "objects/envelope.hpp"
#include "objects/peer_message.hpp"

namespace spotmesh::objects {

class Core;

// Any thread.
class PeerMessages {
 public:
  explicit PeerMessages(Core& core);

  // Hands the message over to the lane to `owner`; calls for one owner keep their order. A request
  // is answered through its sink, and `taken` is called before, once the owner has answered
  // anything. When it fails, neither is, and the sender has been told nothing.
  Result<void> submit(const mesh::Peer& owner, const Envelope& envelope,
                      std::function<void()> taken);

 private:
  Result<void> receive(const PeerMessage& message);
  Result<void> receive_stale(const PeerMessage& message);
  void tell_stale(const mesh::Peer& peer, const Envelope& envelope);
  void deliver(const PeerMessage& message, Envelope& envelope);
  void refuse(const PeerMessage& message, const Envelope& envelope, Error error);

  Core& core_;
};

}  // namespace spotmesh::objects
