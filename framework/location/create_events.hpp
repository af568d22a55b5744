// What a creation's machine is told, and what it wants done.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "location/authority.hpp"
#include "location/create_request.hpp"
#include "location/machine.hpp"
#include "location/records.hpp"

namespace spotmesh::location {

namespace create {

// Events besides ReadDone, CommitDone and TimerFired.
struct Start {};
// Answers to ChoosePlace. Another node that is asked ends with EndedElsewhere or, when it holds
// nothing and the object is to be made here after all, PlacedHere.
struct PlacedHere {};
struct PlacedElsewhere {};
struct NoPlace {
  Error error;
  bool may_change = false;  // try again, until the deadline
};
// Whoever drives this machine has answered for it.
struct EndedElsewhere {};
// Answers to TakeSlot.
struct SlotTaken {};
struct SlotRefused {
  Error error;  // CapacityExceeded, NotConfigured …
};
// Answers to RunFactory, at most one; after DiscardInstance none is expected and one that comes is
// ignored.
struct Accepted {
  std::optional<Membership> membership;  // an Actor's Entry Spot
  // The version of the Spot's record that the Actor enters, as a further condition.
  std::optional<Condition> spot;
  std::optional<StoredReply> reply;
};
struct Rejected {
  std::optional<StoredReply> reply;
};
struct Failed {
  Error error;  // a throw, a wrong Context …
};
// The node stops: ends with ShuttingDown unless already decided.
struct Stop {
  Error error;  // what is answered
};
// Nobody waits for it any more: as if its deadline had come.
struct Withdrawn {};
using Event = std::variant<Start, ReadDone, CommitDone, TimerFired, PlacedHere, PlacedElsewhere,
                           NoPlace, EndedElsewhere, SlotTaken, SlotRefused, Accepted, Rejected,
                           Failed, Stop, Withdrawn>;

// Actions besides ReadKeys, CommitKeys, ArmTimer and CancelTimer.
// The id is free: choose the node that makes it.
struct ChoosePlace {};
// Take one slot of this node's capacity as pending and answer with SlotTaken or SlotRefused. When
// it is taken, LocalObjects::has() is true of `generation`, until FreeSlot or, once created,
// destroy.
struct TakeSlot {
  ObjectGeneration generation;
};
// The slot is free again. Said exactly when an attempt that had taken it has failed for certain.
struct FreeSlot {};
// Watch that owner's beat (BeatWatchMachine).
struct WatchOwner {
  OwnerStamp owner;
};
// That run was read to be over: nothing that it still says may be taken.
struct OwnerOver {
  OwnerStamp owner;
};
// The id is reserved: run the factory and the acceptance callback.
struct RunFactory {
  AuthorityRecord record;  // as it stands in the store, Creating
};
// Whatever the factory made, or is about to make, is never exposed: drop it.
struct DiscardInstance {};
// Exactly once, unless it ended elsewhere. Of Created: the slot is active now, the instance is to
// be exposed at once.
struct Answer {
  CreateOutcome outcome;
};
// Last action, exactly once, perhaps long after Answer: the machine may be destroyed.
struct Done {
  // The record of the attempt may still stand, since it could not be given back: it is to be
  // removed (RemoveMachine), or nobody could ever create the id while this node lives.
  std::optional<ObjectGeneration> leftover;
  // What it has given back, if that stays for its terminals: to be deleted past their times.
  std::optional<VacantRecord> vacant;
};
using Action =
    std::variant<ReadKeys, CommitKeys, ArmTimer, CancelTimer, ChoosePlace, TakeSlot, FreeSlot,
                 WatchOwner, OwnerOver, RunFactory, DiscardInstance, Answer, Done>;
using Actions = std::vector<Action>;

}  // namespace create

}  // namespace spotmesh::location
