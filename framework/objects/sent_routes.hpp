// SentRoutes: to which peer the last message for an id went, as long as it may be on its way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spotmesh/calls.hpp>

#include "mesh/peers.hpp"

namespace spotmesh::objects {

// When the route of an id changes, what was said along the old one must have been taken before
// anything goes along the new one; else an id that comes back could meet the two in the wrong
// order. A position counts what has been sent to one peer: an answer to something that was sent
// later confirms all before it, since one lane keeps its order. Not thread-safe.
class SentRoutes {
 public:
  // The lane to `peer` has accepted a message for the id. Its position.
  std::uint64_t note(TargetKind kind, std::string_view id, const mesh::Peer& peer);
  // Of the last message to that peer.
  std::uint64_t position(const mesh::Peer& peer) const;
  // The peer has taken all up to there.
  void confirm(const mesh::Peer& peer, std::uint64_t position);
  // The peer's run is over: what was on its way is lost.
  void end(const mesh::Peer& peer);
  // Where a message for the id may still be on its way to.
  std::optional<mesh::Peer> find(TargetKind kind, std::string_view id) const;
  // Of that peer, since the last confirmation.
  std::uint64_t unconfirmed(const mesh::Peer& peer) const;
  std::size_t size() const { return by_id_.size(); }

 private:
  using Key = std::pair<TargetKind, std::string>;
  struct Sent {
    mesh::Peer peer;
    std::uint64_t position = 0;
  };
  struct Line {
    std::uint64_t sent = 0;
    std::uint64_t confirmed = 0;
    std::map<std::uint64_t, Key> keys;  // of what is not confirmed, by position
  };

  std::map<Key, Sent> by_id_;
  std::map<mesh::Peer, Line> lines_;
};

}  // namespace spotmesh::objects
