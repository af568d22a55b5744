// MeshMachine: all that decides in a node's mesh: its sessions, connections of strangers, and the
// runs that are over. Sans-I/O; the transition tables are in framework/docs/mesh.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "mesh/ended_runs.hpp"
#include "mesh/handshake.hpp"
#include "mesh/peers.hpp"
#include "mesh/session_machine.hpp"

namespace spotmesh::mesh {

namespace machine {

// Events. Ids of connections that peers have opened are odd.
struct Send {
  Peer to;
  std::vector<session::Outgoing> messages;
};
struct Accepted {
  ConnectionId connection = 0;
};
struct EndRun {
  Peer peer;
  Error reason;
};
// Every session ends: when all it has sent has been acknowledged, or at `until`.
struct Stop {
  Instant until;
};
using Event = std::variant<Send, Accepted, session::DialUp, session::DialFailed, session::Frames,
                           session::Down, session::TimerFired, EndRun, Stop>;

// Actions besides session::Write, Close and Trust.
struct Dial {
  Peer peer;
  ConnectionId connection = 0;
};
struct Deliver {
  Peer from;
  Lane lane = Lane::Messages;
  SharedBytes message;
};
struct Credit {
  Peer peer;
  Lane lane = Lane::Messages;
  LaneCredit credit;
};
struct Linked {
  Peer peer;
};
struct Unlinked {
  Peer peer;
  std::string reason;
};
struct Refused {
  std::optional<Peer> peer;  // unknown of strangers
  handshake::Refused refused;
};
struct DialLost {
  Peer peer;
  std::string reason;
};
// Once for each run. Nothing of it follows.
struct Ended {
  Peer peer;
  Error reason;
};
// After Stop: no session is left.
struct Stopped {};
using Action = std::variant<session::Write, session::Close, session::Trust, Dial, Deliver, Credit,
                            Linked, Unlinked, Refused, DialLost, Ended, Stopped>;
using Actions = std::vector<Action>;

}  // namespace machine

class MeshMachine {
 public:
  // `context` outlives the machine.
  explicit MeshMachine(const SessionContext& context) : context_(&context) {}

  machine::Actions on_event(machine::Event event, Instant now);

  // When TimerFired is to come; earlier ones do no harm. Instant::max(): never.
  Instant deadline() const { return deadline_; }
  std::size_t sessions() const { return sessions_.size(); }
  const SessionMachine* session_with(const Peer& peer) const;
  session::Tally take_tally() { return std::exchange(tally_, {}); }
  // For explorations; see SessionMachine.
  void append_state(std::string& out) const;

 private:
  struct Stranger {
    AcceptHandshake handshake;
    Instant give_up_at;
  };
  using Sessions = std::map<Peer, SessionMachine>;

  void on(machine::Send& event, Instant now);
  void on(machine::Accepted& event, Instant now);
  void on(session::DialUp& event, Instant now);
  void on(session::DialFailed& event, Instant now);
  void on(session::Frames& event, Instant now);
  void on(session::Down& event, Instant now);
  void on(session::TimerFired& event, Instant now);
  void on(machine::EndRun& event, Instant now);
  void on(machine::Stop& event, Instant now);

  void take(ConnectionId connection, Stranger& stranger, std::vector<SharedBytes> frames,
            Instant now);
  void introduce(ConnectionId connection, const handshake::Proven& proven, Instant now);
  std::optional<handshake::Refused> objection(const Peer& dialler) const;
  void refuse_proven(ConnectionId connection, const Peer& dialler, handshake::Refused objection);
  void end_former_run(const Peer& dialler, Instant now);

  SessionMachine& session_for(const Peer& peer);
  template <typename Event>
  void feed_owner(ConnectionId connection, Event event, Instant now);
  void feed(SessionMachine& session, session::Event event, Instant now);
  void pass_on(const Peer& peer, session::Action& action);
  void finish_if_due(SessionMachine& session, Instant now);
  void note_deadline(Instant when) { deadline_ = std::min(deadline_, when); }
  void find_deadline();

  const SessionContext* context_;
  Sessions sessions_;
  std::uint32_t last_session_ = 0;
  std::map<ConnectionId, Stranger> strangers_;
  std::map<ConnectionId, Peer> owners_;  // of connections, which are up or being dialled
  EndedRuns ended_;
  std::optional<Instant> stop_until_;
  bool is_stopped_ = false;
  Instant deadline_ = Instant::max();

  session::Tally tally_;
  machine::Actions actions_;
};

}  // namespace spotmesh::mesh
