// This node's lease: acquiring, renewing, losing it, and what a store with a new epoch does to it.
// The transition table is framework/docs/lease.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.hpp"
#include "location/lease_view.hpp"
#include "location/machine.hpp"
#include "location/records.hpp"

namespace spotmesh::location {

namespace lease {

// Events besides ReadDone, CommitDone and TimerFired.
struct Start {};
// Another operation of this node was answered from this epoch. Feed it whenever it differs from
// view().epoch.
struct EpochSeen {
  StoreEpoch epoch;
};
// A commit conflicted on this node's own lease key: look at once.
struct Doubted {};
// A clean stop: give the lease back.
struct Release {};
using Event = std::variant<Start, ReadDone, CommitDone, TimerFired, EpochSeen, Doubted, Release>;

// Actions besides ReadKeys, CommitKeys, ArmTimer and CancelTimer. view() is already up to date.
struct Acquired {};
// A renewal succeeded: what was held back by a deadline that had passed may go on. Not sent by
// Acquired and Reasserted, which imply it.
struct Extended {};
// The store has a new epoch: drop route caches. Reasserted, or Fenced, follows.
struct EpochChanged {};
// The lease stands in the new epoch: re-assert every object now (decide_reassertion()), before
// view().quiet_until and view().former_admission_deadline.
struct Reasserted {};
// view().quiet_until has passed.
struct QuietTimeOver {};
// Terminal. The lease is lost and never comes back: this lifecycle writes, runs and pushes nothing.
struct Fenced {
  std::string reason;
};
// Terminal. The answer to Release; the lease was given back, or will run out.
struct Released {};
// Terminal. The lease cannot be acquired: the counter is exhausted, a record is damaged, or the
// owner id is in use. (A store that is away is waited for.)
struct AcquireFailed {
  Error error;
};
using Action =
    std::variant<ReadKeys, CommitKeys, ArmTimer, CancelTimer, Acquired, Extended, EpochChanged,
                 Reasserted, QuietTimeOver, Fenced, Released, AcquireFailed>;
using Actions = std::vector<Action>;

}  // namespace lease

class LeaseMachine {
 public:
  enum class State : std::uint8_t {
    Idle,         // not started
    Acquiring,    // reading, or committing lease, beat and counter
    Held,         // renewing
    Reasserting,  // a new epoch: reading, or writing the lease again
    Releasing,
    Ended  // Fenced, Released or AcquireFailed was said
  };

  // `config` must be valid. `random` gives the jitter of retries and outlives the machine.
  LeaseMachine(LeaseConfig config, OwnerId owner, NodeRid rid, LifecycleId lifecycle,
               Random& random);

  lease::Actions on_event(const lease::Event& event, Instant now);

  State state() const { return state_; }
  // Stays at one address; other machines keep a reference. Read it on the driver's strand only.
  const LeaseView& view() const { return view_; }
  void note(StateNotes& notes) const;

 private:
  enum class Waiting : std::uint8_t { Nothing, Read, Commit, Backoff };
  struct Renewal {
    Ticket ticket = 0;
    Instant sent;
  };
  // What the last read of lease and counter showed.
  struct Seen {
    StoreEpoch epoch;
    std::optional<StoreVersion> lease_version;
    std::optional<StoreVersion> counter_version;
    std::optional<LeaseRecord> lease;
    std::optional<LeaseCounterRecord> counter;
  };

  void on(const lease::Start& event, Instant now);
  void on(const ReadDone& event, Instant now);
  void on(const CommitDone& event, Instant now);
  void on(const TimerFired& event, Instant now);
  void on(const lease::EpochSeen& event, Instant now);
  void on(const lease::Doubted& event, Instant now);
  void on(const lease::Release& event, Instant now);

  void look();
  void commit(Commit commit, Instant now);
  void try_later(Instant now);
  void arm();
  bool take(const ReadResult& result);
  OwnerStamp stamp(LeaseGeneration generation) const;
  // What a new epoch adds to the counter.
  LeaseCounterRecord first_counter();
  std::uint64_t epoch_step();
  bool is_own(const OwnerStamp& stamp) const;

  void acquire(Instant now);
  void acquired(const StoreVersion& version, Instant now);
  void begin_reassertion(Instant now);
  void reassert(Instant now);
  void reasserted(const StoreVersion& version);
  Commit assertion(const LeaseCounterRecord& counter);
  void check_held(Instant now);

  void renew(Instant now);
  void on_renewal(const Renewal& renewal, const CommitResult& result, Instant now);
  bool on_late_renewal(const CommitDone& event, Instant now);
  void end_quiet_time();
  void settle_epoch(const Seen& seen);
  void release(Instant now);

  void hold(const StoreVersion& version);
  void extend(Instant sent);
  void fence(std::string reason);
  void end(lease::Action last);

  const LeaseConfig config_;
  const OwnerId owner_;
  const NodeRid rid_;
  const LifecycleId lifecycle_;
  Random& random_;

  State state_ = State::Idle;
  LeaseView view_;
  Seen seen_;
  Ticket next_ticket_ = 1;

  // The one look or write under way besides renewals, or the pause before the next.
  Waiting waiting_ = Waiting::Nothing;
  Ticket awaited_ = 0;
  Instant sent_{};
  Instant retry_at_{};
  unsigned failures_ = 0;
  LeaseGeneration proposed_;
  bool proposed_is_settled_ = true;

  std::uint64_t beat_ = 0;
  std::vector<Renewal> renewals_;
  Instant next_renewal_{};
  unsigned renewal_failures_ = 0;
  bool is_quiet_ = false;
  bool must_settle_epoch_ = false;
  Ticket settling_ = 0;
  Instant release_until_{};
  lease::Actions actions_;
};

}  // namespace spotmesh::location
