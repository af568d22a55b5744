// What the machines of this module have in common. A machine is sans-I/O: on_event(event, now)
// returns the actions to be done, in order; it never blocks, sleeps, locks or calls back. Its
// driver (a Strand) does the actions and feeds their results in as events, one at a time.
//
// The rules for every driver:
// * ReadKeys, ScanKeys and CommitKeys go to the store; exactly one ReadDone, PageDone or
//   CommitDone with the same ticket comes back, however late. A machine ignores a ticket it no
//   longer waits for.
// * ArmTimer arms the machine's one timer anew (an earlier arming is void); when it fires, feed
//   TimerFired. One that fires too early or after it was replaced does no harm. A machine that
//   needs no timer any more says CancelTimer.
// * An answer from another epoch than LeaseView::epoch goes to the LeaseMachine as EpochSeen too,
//   and a Conflict on this node's own lease key as Doubted.
// * `now` is the driver's clock at the time of the event and never runs backwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "location/store.hpp"

namespace spotmesh::location {

// What a machine notes of its state (location/state_notes.hpp).
class StateNotes;

// Tells one machine's store operations apart; unique within the machine.
using Ticket = std::uint64_t;

// Actions.
struct ReadKeys {
  Ticket ticket = 0;
  std::vector<std::string> keys;
};
struct ScanKeys {
  Ticket ticket = 0;
  std::string prefix;
  std::string cursor;
  std::size_t limit = 0;
};
struct CommitKeys {
  Ticket ticket = 0;
  Commit commit;
};
struct ArmTimer {
  Instant deadline;
};
struct CancelTimer {};

// Events.
struct ReadDone {
  Ticket ticket = 0;
  Result<ReadResult> result;
};
struct PageDone {
  Ticket ticket = 0;
  Result<ScanPage> page;
};
struct CommitDone {
  Ticket ticket = 0;
  CommitResult result;
};
struct TimerFired {};

}  // namespace spotmesh::location
