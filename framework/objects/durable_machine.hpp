// DurableMachine: carries one operation to another node and its answer back, executed once. It
// knows nothing of what the operation is. The transition table is framework/docs/durable.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "location/machine.hpp"

namespace spotmesh::objects {

namespace durable {

// Events besides TimerFired.
struct Start {};
// Answers to FindRoute. Found: a node to send to is known.
struct RouteFound {};
// None at the moment; it is looked for again.
struct NoRoute {
  Error error;
};
// Answers to Send, and what comes of it.
struct Sent {};
// Nothing has left this node.
struct NotSent {
  Error error;
};
// The target has begun; an answer follows unless its run ends.
struct Admitted {};
// The target's word on the operation, whatever it is: the end.
struct Answered {};
// It is done without any other node. Not once it is bound.
struct Settled {};
// The target has not begun and holds nothing for it.
struct TurnedAway {
  Error error;
};
// The connection to the target broke without an answer; its run is not known to be over.
struct Lost {
  Error error;
};
// The target's run is over.
struct RunOver {
  Error error;
};
// A protocol error, a failure to encode, a stop of this node: the end.
struct Failed {
  Error error;
};
using Event = std::variant<Start, RouteFound, NoRoute, Sent, NotSent, Admitted, Answered, Settled,
                           TurnedAway, Lost, RunOver, Failed, location::TimerFired>;

// Actions besides ArmTimer and CancelTimer.
// Where to send it. When `is_bound` the target that it was sent to before, wherever the object of
// the operation is by now: it may have begun there.
struct FindRoute {
  bool is_bound = false;
};
// Under the same operation id each time, with the whole time that is left.
struct Send {};
// Nobody waits any more: what the target has not begun, or not finished, it need not.
struct Withdraw {};
// Last action, once. Without an error: answered, or settled.
struct Finished {
  std::optional<Error> error;
};
using Action =
    std::variant<FindRoute, Send, Withdraw, Finished, location::ArmTimer, location::CancelTimer>;
using Actions = std::vector<Action>;

// Before it is sent again: doubling from the first to the last, each with jitter on its upper half.
inline constexpr Duration first_pause = std::chrono::milliseconds(20);
inline constexpr Duration last_pause = std::chrono::seconds(1);

}  // namespace durable

class DurableMachine {
 public:
  enum class State : std::uint8_t {
    Idle,
    Routing,   // FindRoute is unanswered
    Sending,   // Send is unanswered
    Awaiting,  // the target's answer
    Pausing,
    Done
  };

  // `name` begins error texts ("create of Actor "x""). `random` outlives the machine.
  DurableMachine(std::string name, Instant deadline, Random& random);

  durable::Actions on_event(const durable::Event& event, Instant now);
  State state() const { return state_; }

 private:
  void on(const durable::Start& event, Instant now);
  void on(const durable::RouteFound& event, Instant now);
  void on(const durable::NoRoute& event, Instant now);
  void on(const durable::Sent& event, Instant now);
  void on(const durable::NotSent& event, Instant now);
  void on(const durable::Admitted& event, Instant now);
  void on(const durable::Answered& event, Instant now);
  void on(const durable::Settled& event, Instant now);
  void on(const durable::TurnedAway& event, Instant now);
  void on(const durable::Lost& event, Instant now);
  void on(const durable::RunOver& event, Instant now);
  void on(const durable::Failed& event, Instant now);
  void on(const location::TimerFired& event, Instant now);

  void find_route();
  void pause(const Error& reason, Instant now);
  void finish(std::optional<Error> error);
  Error named(ErrorKind kind, std::string_view text) const;

  const std::string name_;
  const Instant deadline_;
  Random& random_;
  State state_ = State::Idle;
  bool is_bound_ = false;     // something has left for the target
  bool is_admitted_ = false;  // the target has said so
  unsigned failures_ = 0;     // in a row
  Instant retry_at_{};
  std::string reason_;  // why it is not done yet
  durable::Actions actions_;
};

}  // namespace spotmesh::objects
