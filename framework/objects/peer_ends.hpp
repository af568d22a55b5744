// PeerEnds: destroys Actors and closes Spots that another node owns, and does so here for others.
#pragma once

#include <functional>
#include <string>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "mesh/peers.hpp"
#include "objects/peer_message.hpp"

namespace spotmesh::objects {

class Core;

// Strand only.
class PeerEnds {
 public:
  explicit PeerEnds(Core& core);

  // What the owner's destroy() or close() of that incarnation gives. Unavailable: the owner cannot
  // be reached, or its run has ended. Nothing comes when the deadline passes first: whoever waits
  // has a timer of his own.
  void end(const mesh::Peer& owner, TargetKind kind, const std::string& id,
           ObjectGeneration generation, Instant deadline, std::function<void(Result<bool>)> done);

 private:
  Result<void> receive(const PeerMessage& message, TargetKind kind);

  Core& core_;
};

}  // namespace spotmesh::objects
