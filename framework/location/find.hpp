// Looking an id up: for find(), and for the route of a message. Never writes. The table is
// framework/docs/creation.md.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include <spotmesh/time.hpp>

#include "location/authority.hpp"
#include "location/machine.hpp"

namespace spotmesh::location {

struct FindOutcome {
  // Unproven counts as found: nothing speaks against that owner yet.
  Standing standing = Standing::Missing;
  std::optional<VersionedAuthority> authority;  // of all but Missing
  std::optional<VersionedAuthority> spot;       // of a member whose owner follows its Spot
  std::optional<OwnerStamp> owner;              // of Ready, Unproven and Silent
  // Of OwnerLost: the record names this run, which does not have the object.
  bool is_own_leftover = false;
  std::optional<VacantRecord> vacant;  // of Missing, when a record is there
  bool is_found() const { return standing == Standing::Ready || standing == Standing::Unproven; }
};

namespace find {

struct Start {};
using Event = std::variant<Start, ReadDone, TimerFired>;

// Watch that owner's beat (BeatWatchMachine).
struct WatchOwner {
  OwnerStamp owner;
};
// That run was read to be over: nothing that it still says may be taken.
struct OwnerOver {
  OwnerStamp owner;
};
// Last action, exactly once. The error is Unavailable (store), DataLost (a damaged record, named)
// or DeadlineExceeded. It is never cached.
struct Finished {
  Result<FindOutcome> outcome;
};
using Action = std::variant<ReadKeys, ArmTimer, CancelTimer, WatchOwner, OwnerOver, Finished>;
using Actions = std::vector<Action>;

}  // namespace find

class FindMachine {
 public:
  FindMachine(ObjectKey object, Instant deadline, const AuthorityEnvironment& environment);
  find::Actions on_event(const find::Event& event, Instant now);

 private:
  void on(const find::Start& event, Instant now);
  void on(const ReadDone& event, Instant now);
  void on(const TimerFired& event, Instant now);
  void read();
  void finish(Result<FindOutcome> outcome);

  ObjectKey object_;
  Instant deadline_;
  AuthorityReader reader_;
  Ticket next_ticket_ = 1;
  Ticket awaited_ = 0;
  bool is_finished_ = false;
  find::Actions actions_;
};

}  // namespace spotmesh::location
