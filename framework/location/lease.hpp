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
  const LeaseConfig& config() const { return config_; }

 private:
  enum class Waiting : std::uint8_t { Nothing, Read, Commit, Backoff };
  struct Renewal {
    Ticket ticket = 0;
    Instant sent;
  };
  // What the last read of lease, beat and counter showed.
  struct Seen {
    StoreEpoch epoch;
    std::optional<StoreVersion> lease_version;
    std::optional<StoreVersion> beat_version;
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

  void start_read(Instant now);
  void start_commit(Commit commit, Instant now);
  void retry_later(Instant now);
  void arm(Instant now);
  bool parse_seen(const ReadResult& result);
  void take_reading(Instant now);
  void try_acquire(Instant now);
  void try_reassert(Instant now);
  void check_held(Instant now);
  void settle_acquired(StoreVersion lease_version, Instant now);
  void settle_reasserted(StoreVersion lease_version, Instant now);
  void begin_reassertion(Instant now);
  void send_renewal(Instant now);
  void send_settling(Instant now);
  void on_renewal(const Renewal& renewal, const CommitResult& result, Instant now);
  void on_settling(const CommitResult& result, Instant now);
  void on_own_commit(const CommitResult& result, Instant now);
  bool take_renewal(Ticket ticket, Renewal& out);
  Commit assertion(LeaseGeneration generation, bool is_settled) const;
  LeaseGeneration next_generation() const;
  void extend(Instant sent);
  void fence(std::string reason);
  void end(lease::Action last);

  LeaseConfig config_;
  OwnerId owner_;
  NodeRid rid_;
  LifecycleId lifecycle_;
  Random& random_;

  State state_ = State::Idle;
  Waiting waiting_ = Waiting::Nothing;
  LeaseView view_;
  Ticket next_ticket_ = 1;
  Ticket awaited_ = 0;
  Instant sent_{};
  Instant operation_deadline_{};
  Instant retry_at_{};
  unsigned failures_in_a_row_ = 0;
  std::uint64_t beat_ = 0;
  Seen seen_;
  LeaseGeneration proposed_;
  bool proposed_is_settled_ = true;
  std::vector<Renewal> renewals_;
  Instant next_renewal_{};
  bool is_quiet_ = false;
  Ticket settling_ = 0;
  lease::Actions actions_;
};

}  // namespace spotmesh::location
