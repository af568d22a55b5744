// Peers: messages between runs of nodes, whatever happens to the connections beneath.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

namespace spotmesh::mesh {

// One run of a node: a process that was restarted is another peer, which has never heard of what
// was said to the one before.
struct Peer {
  NodeRid node;
  LifecycleId lifecycle;
  friend auto operator<=>(const Peer&, const Peer&) = default;
  friend bool operator==(const Peer&, const Peer&) = default;
};

// What is sent on one lane arrives in its order; lanes do not wait for one another. Control (what
// moves protocols on) goes ahead of Messages (what games say), and Bulk (state of objects that
// move) takes what room is left. Each has a bound of its own.
enum class Lane : std::uint8_t { Control, Messages, Bulk };
inline constexpr std::size_t lane_count = 3;

// Where peers can be reached, from their descriptors. Any thread, never blocks.
class AddressBook {
 public:
  virtual ~AddressBook() = default;
  // "host:port"; nothing when no such run of a node is known.
  virtual std::optional<std::string> address_of(const Peer& peer) const = 0;
};

// Calls for one peer come one at a time, from any thread. They only hand over.
class PeerHandler {
 public:
  virtual ~PeerHandler() = default;
  // Once for each message that the peer has sent, in the order of its lane.
  virtual void on_message(const Peer& from, Lane lane, SharedBytes message) = 0;
  // The session with that run of the node is over, and with it all that was under way in either
  // direction. No message of it follows. Called once for each session that has carried something.
  virtual void on_ended(const Peer& peer, const Error& reason) = 0;
};

// One node's sessions with its peers. A session belongs to a pair of node runs: it is opened by the
// first send() or by the peer, outlives its connections, and ends only with one of the two runs.
// Within it nothing is lost, doubled or reordered. Any thread.
class Peers {
 public:
  virtual ~Peers() = default;
  // Accepts a message of up to limits::mesh_message_bytes for the peer. Within a turn it leaves at
  // the turn's end, together with all else that the turn says to that peer. Unavailable: the peer's
  // lane is full, its address is unknown, its run is over, or this node is stopping.
  // InvalidOperation: the message is too long, or the peer is this node.
  virtual Result<void> send(const Peer& to, Lane lane, SharedBytes message) = 0;
  // That run of the node is over (its lease was fenced, its descriptor is gone): its session ends,
  // and nothing more is taken from it, whatever it still sends.
  virtual void end(const Peer& peer, const Error& reason) = 0;
  // Whether that run is known to be over. True before on_ended() is called for it.
  virtual bool is_over(const Peer& peer) const = 0;
};

}  // namespace spotmesh::mesh
