// The session between this run of a node and one of a peer: its connections come and go, its lanes
// stay. The transition table is in framework/docs/mesh.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "mesh/handshake.hpp"
#include "mesh/lanes.hpp"
#include "mesh/options.hpp"
#include "mesh/peers.hpp"
#include "mesh/session_events.hpp"
#include "runtime/faults.hpp"

namespace spotmesh::mesh {

// What all sessions of a node have in common; outlives them.
struct SessionContext {
  Credentials credentials;
  MeshOptions options;
  Random& random;
  runtime::Faults* faults = nullptr;
};

class SessionMachine {
 public:
  enum class State : std::uint8_t {
    Fresh,     // nothing to send yet
    Dialling,  // the Transport tries to connect
    Greeting,  // this side's dial is connected: its handshake
    Linked,
    Waiting,  // for the next attempt
    Ended
  };

  // `number` tells the sessions of a node apart, and from it come the ids of their dials: even
  // ones, which no other session has.
  SessionMachine(const SessionContext& context, Peer peer, std::uint32_t number);

  session::Actions on_event(session::Event event, Instant now);

  State state() const { return state_; }
  const Peer& peer() const { return peer_; }
  // When TimerFired is to come; earlier ones do no harm. Instant::max(): never.
  Instant deadline() const;
  // All that was sent has been acknowledged.
  bool is_drained() const;
  session::Tally take_tally() { return std::exchange(tally_, {}); }
  // For explorations: all that decides what happens next, but for the moments of time.
  void append_state(std::string& out) const;

 private:
  void on(session::Send& event, Instant now);
  void on(session::DialUp& event, Instant now);
  void on(session::DialFailed& event, Instant now);
  void on(session::Offer& event, Instant now);
  void on(session::Frames& event, Instant now);
  void on(session::Down& event, Instant now);
  void on(session::TimerFired& event, Instant now);
  void on(session::Finish& event, Instant now);

  void dial();
  void wait(Instant now);
  void take_up(const wire::MeshPositions& received, Instant now);
  void break_link(std::string reason, Instant now);
  void refuse(ConnectionId connection, wire::MeshRefusalReason reason, std::string text);
  void end(Error reason);
  bool can_resume_after(const wire::MeshPositions& received) const;
  bool is_outdated(const wire::MeshResponse& response) const;

  void greet(ByteView bytes, Instant now);
  void act(handshake::Refused& refused, Instant now);
  void act(handshake::OtherRun& other, Instant now);
  void act(handshake::Welcomed& welcomed, Instant now);

  void take(ByteView bytes, Instant now);
  void take(const wire::MeshData& data, Instant now);
  void take(const wire::MeshAcknowledgement& acknowledgement, Instant now);

  wire::MeshPositions positions() const;
  SharedBytes acknowledgement();
  void pump(Instant now);
  void fill(SendLane& lane, std::size_t window, std::vector<SharedBytes>& frames);
  void write(std::vector<SharedBytes> frames, Instant now);

  const SessionContext* context_;
  Peer peer_;
  std::uint32_t number_;
  State state_ = State::Fresh;

  ConnectionId connection_ = 0;  // of the present dial or link
  bool is_own_dial_ = false;
  std::uint64_t dials_ = 0;    // how often this side has dialled
  std::uint64_t adopted_ = 0;  // the peer's last dial that this side has taken up
  unsigned failures_ = 0;
  std::optional<DialHandshake> handshake_;

  std::array<SendLane, lane_count> sending_ = {SendLane(0), SendLane(1), SendLane(2)};
  std::array<ReceiveLane, lane_count> receiving_;
  std::size_t owed_frames_ = 0;  // taken and not acknowledged
  std::size_t owed_bytes_ = 0;

  Instant give_up_at_{};  // Greeting
  Instant retry_at_{};    // Waiting
  Instant linked_at_{};   // Linked, as the following
  Instant heard_at_{};
  Instant written_at_{};
  Instant owed_since_{};

  session::Tally tally_;
  session::Actions actions_;
};

}  // namespace spotmesh::mesh
