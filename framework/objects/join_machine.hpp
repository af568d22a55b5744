// JoinMachine: one deferred Join on one node, from its barrier to its completion. Sans-I/O as the
// machines of location/machine.hpp; the transition table is framework/docs/join.md.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

#include "location/machine.hpp"

namespace spotmesh::objects {

// How a Join ended; the driver adds who and where.
struct JoinEnd {
  enum class Kind : std::uint8_t { Accepted, Rejected, Failed };
  Kind kind = Kind::Failed;
  Message reply;                              // of Accepted and Rejected
  Error error = Error::internal_failure("");  // of Failed
};

namespace join {

// Events besides TimerFired.
struct Start {};
// Answers to Resolve.
struct AlreadyThere {};
struct Found {};
struct NotUsable {
  Error error;
};
// Answers to RunAdmission.
struct Admitted {
  Message reply;
};
struct Refused {
  Message reply;
};
struct AdmissionFailed {
  Error error;
};
struct Claimed {};     // answers ClaimActor
struct Committed {};   // answer CommitMembership
struct CommitFailed {  // for certain not applied
  Error error;
};
struct Detached {};   // answers DetachFromFormer
struct JoinedRan {};  // answers RunJoined
struct LeaveRan {};   // answers RunLeave
struct Delivered {};  // answers Deliver
// The node stops: what has not come to its commit fails with ShuttingDown.
struct Stop {
  Error error;
};
using Event = std::variant<Start, location::TimerFired, AlreadyThere, Found, NotUsable, Admitted,
                           Refused, AdmissionFailed, Claimed, Committed, CommitFailed, Detached,
                           JoinedRan, LeaveRan, Delivered, Stop>;

// Actions besides ArmTimer and CancelTimer.
struct Resolve {};           // find the Spot
struct Reserve {};           // neither Spot may end from here until Unreserve
struct RunAdmission {};      // on_actor_join, on the target's gate
struct ClaimActor {};        // no turn of the Actor runs from Claimed until ReleaseClaim
struct WithdrawClaim {};     // it has not been granted and must not be
struct CommitMembership {};  // one store commit
struct DetachFromFormer {
};  // out of the former Spot's list, on its gate, before anything else runs
struct SwitchMembership {};  // Context and gate are the new Spot's
struct RunJoined {};         // into the list and on_joined_actor, on the target's gate
struct RunLeave {};          // on_leave_actor, on the former Spot's gate
struct ReleaseClaim {};
struct Unreserve {};
struct Deliver {  // on_join_completed, on the Actor's gate
  JoinEnd end;
};
struct OpenBarrier {};  // ordinary messages run again; another Join may be registered
struct Done {};         // last, exactly once
using Action =
    std::variant<location::ArmTimer, location::CancelTimer, Resolve, Reserve, RunAdmission,
                 ClaimActor, WithdrawClaim, CommitMembership, DetachFromFormer, SwitchMembership,
                 RunJoined, RunLeave, ReleaseClaim, Unreserve, Deliver, OpenBarrier, Done>;
using Actions = std::vector<Action>;

}  // namespace join

class JoinMachine {
 public:
  enum class State : std::uint8_t {
    Idle,
    Resolving,
    Admitting,
    Claiming,
    Committing,
    Detaching,
    Joining,
    Leaving,
    Delivering,
    Done
  };

  // `what` names the Join in errors ("Join of Actor 'x' to Spot 'y'").
  JoinMachine(std::string what, Instant deadline);

  // An event that does not belong to the present state (an answer that comes after the deadline) is
  // ignored.
  join::Actions on_event(const join::Event& event, Instant now);
  State state() const { return state_; }

 private:
  void on(const join::Start& event, Instant now);
  void on(const location::TimerFired& event, Instant now);
  void on(const join::AlreadyThere& event, Instant now);
  void on(const join::Found& event, Instant now);
  void on(const join::NotUsable& event, Instant now);
  void on(const join::Admitted& event, Instant now);
  void on(const join::Refused& event, Instant now);
  void on(const join::AdmissionFailed& event, Instant now);
  void on(const join::Claimed& event, Instant now);
  void on(const join::Committed& event, Instant now);
  void on(const join::CommitFailed& event, Instant now);
  void on(const join::Detached& event, Instant now);
  void on(const join::JoinedRan& event, Instant now);
  void on(const join::LeaveRan& event, Instant now);
  void on(const join::Delivered& event, Instant now);
  void on(const join::Stop& event, Instant now);

  bool is_before_commit() const;
  // Gives back what the present state holds and delivers the end.
  void end_uncommitted(JoinEnd end);
  void deliver(JoinEnd end);

  std::string what_;
  Instant deadline_;
  State state_ = State::Idle;
  Message reply_;
  join::Actions actions_;
};

}  // namespace spotmesh::objects
