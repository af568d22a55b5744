// AddressCheck: whether the address that a node is about to tell the others leads to it. The table
// is in framework/docs/mesh.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "mesh/handshake.hpp"
#include "mesh/session_events.hpp"
#include "mesh/session_machine.hpp"

namespace spotmesh::mesh {

namespace check {

// Its connections have this id, one after the other.
inline constexpr ConnectionId connection = ~ConnectionId{1};

// Events besides session::DialUp, DialFailed, Frames, Down and TimerFired.
struct Start {};
// The node stops.
struct Stop {};
using Event = std::variant<Start, Stop, session::DialUp, session::DialFailed, session::Frames,
                           session::Down, session::TimerFired>;

// Actions besides session::Write and Close.
struct Dial {
  std::string address;
};
// Once. The failure is Unavailable and names the address and what was found there; ShuttingDown
// after Stop.
struct Finished {
  std::optional<Error> failure;
};
using Action = std::variant<session::Write, session::Close, Dial, Finished>;
using Actions = std::vector<Action>;

}  // namespace check

// Dials the address and listens for the proof that this very run answers; then it hangs up. What is
// not so yet may become so (a name that is not known everywhere yet, a former run that is going):
// it is tried again until MeshOptions::address_check_time is over.
class AddressCheck {
 public:
  // `context` outlives the machine.
  AddressCheck(const SessionContext& context, std::string address);

  check::Actions on_event(check::Event event, Instant now);
  // When a TimerFired is due at the latest.
  Instant deadline() const;
  bool is_over() const { return state_ == State::Over; }

 private:
  enum class State : std::uint8_t {
    Idle,
    Dialling,
    Listening,  // for the proof
    Pausing,    // until `wake_at_`, and until the connection before is down
    Over
  };

  void on(check::Start& event, Instant now);
  void on(check::Stop& event, Instant now);
  void on(session::DialUp& event, Instant now);
  void on(session::DialFailed& event, Instant now);
  void on(session::Frames& event, Instant now);
  void on(session::Down& event, Instant now);
  void on(session::TimerFired& event, Instant now);

  void dial();
  void take(const handshake::Actions& actions, Instant now);
  void hang_up(std::string reason);
  void fail_attempt(std::string reason, Instant now);
  void finish(std::optional<Error> failure);

  const SessionContext& context_;
  const std::string address_;
  State state_ = State::Idle;
  bool is_dialled_ = false;    // a dial or connection has not ended
  bool is_connected_ = false;  // … and it is up, and not hung up
  std::optional<DialHandshake> handshake_;
  std::string reason_;  // of the last failure
  unsigned failures_ = 0;
  Instant wake_at_{};  // the next attempt, or the end of this one's patience
  Instant give_up_at_{};
  check::Actions actions_;
};

}  // namespace spotmesh::mesh
