// What a SessionMachine takes and gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

#include "mesh/handshake.hpp"
#include "mesh/lanes.hpp"
#include "mesh/peers.hpp"

namespace spotmesh::mesh {

// Tells the connections of a node apart; 0 is none.
using ConnectionId = std::uint64_t;

namespace session {

struct Outgoing {
  Lane lane = Lane::Messages;
  SharedBytes message;
};

// Events. Those of a connection that the session has given up are ignored.
struct Send {
  std::vector<Outgoing> messages;
};
struct DialUp {
  ConnectionId connection = 0;
};
struct DialFailed {
  ConnectionId connection = 0;
  std::string reason;
};
// The peer has proven itself on a connection that it has dialled.
struct Offer {
  ConnectionId connection = 0;
  wire::MeshResponse response;
};
struct Frames {
  ConnectionId connection = 0;
  std::vector<SharedBytes> frames;
};
struct Down {
  ConnectionId connection = 0;
  std::string reason;
};
struct TimerFired {};
// This side ends the session.
struct Finish {
  Error reason;
};
using Event = std::variant<Send, DialUp, DialFailed, Offer, Frames, Down, TimerFired, Finish>;

// Actions. A connection that is closed is not mentioned again; a dial that is given up is closed
// when its DialUp comes.
struct Dial {
  ConnectionId connection = 0;
};
struct Write {
  ConnectionId connection = 0;
  std::vector<SharedBytes> frames;
};
struct Close {
  ConnectionId connection = 0;
  std::string reason;
};
struct Deliver {
  Lane lane = Lane::Messages;
  SharedBytes message;
};
// The peer has taken so much of what was sent.
struct Credit {
  Lane lane = Lane::Messages;
  LaneCredit credit;
};
// The peer has proven itself there: it may say more than a stranger.
struct Trust {
  ConnectionId connection = 0;
};
struct Linked {
  ConnectionId connection = 0;
};
// After Linked: the connection is lost, or replaced.
struct Unlinked {
  std::string reason;
};
// For people and metrics; the session goes on trying.
struct DialRefused {
  handshake::Refused refused;
};
struct DialLost {
  std::string reason;
};
// Terminal.
struct Ended {
  Error reason;
};
using Action = std::variant<Dial, Write, Close, Deliver, Credit, Trust, Linked, Unlinked,
                            DialRefused, DialLost, Ended>;
using Actions = std::vector<Action>;

// What has passed; see MeshMetrics.
struct Tally {
  std::size_t frames_sent = 0;
  std::size_t frames_resent = 0;
  std::size_t frames_taken = 0;
  std::size_t duplicates_dropped = 0;
};

}  // namespace session

}  // namespace spotmesh::mesh
