// PeerEnds: destroys Actors and closes Spots that another node owns, and does so here for others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  using Done = std::function<void(Result<bool>)>;

  explicit PeerEnds(Core& core);
  ~PeerEnds();

  // What the owner's destroy() or close() of that incarnation gives; once. Unavailable: the owner
  // cannot be reached, or its run has ended. DeadlineExceeded: it may still do so.
  void end(const mesh::Peer& owner, TargetKind kind, const std::string& id,
           ObjectGeneration generation, Instant deadline, Done done);

 private:
  struct Waiting;

  void finish(std::uint64_t number, Result<bool> result);
  Result<void> receive(const PeerMessage& message, TargetKind kind);

  Core& core_;
  std::uint64_t begun_ = 0;
  // By number. The table of calls drops what is late without a word, so it is not what the timers
  // may hang on.
  std::map<std::uint64_t, std::unique_ptr<Waiting>> waiting_;
};

}  // namespace spotmesh::objects
