// Judging other owners by observation alone: a beat that stands still for TTL + margin on this
// node's own clock may be fenced, and nothing else may. The transition table is
// framework/docs/lease.md.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.hpp"
#include "location/lease.hpp"
#include "location/machine.hpp"
#include "location/records.hpp"
#include "runtime/faults.hpp"

namespace spotmesh::location {

// One process run of an owner, as authority records name it.
struct OwnerRun {
  OwnerId owner;
  LeaseGeneration generation;
  friend bool operator==(const OwnerRun&, const OwnerRun&) = default;
  friend auto operator<=>(const OwnerRun&, const OwnerRun&) = default;
};

inline OwnerRun run_of(const OwnerStamp& stamp) { return {stamp.owner, stamp.lease_generation}; }

enum class OwnerVerdict : std::uint8_t {
  // Not watched, or not long enough to have seen the beat move: it may be either.
  Unproven,
  // The beat has moved while it was watched, the last time less than TTL ago.
  Alive,
  // The beat has stood still for TTL: the lease has run out. It can still be the owner's again.
  Silent,
  // The lease is fenced, was given back or belongs to a later run: this run is over for good.
  Fenced
};

// One reading of an owner's lease and beat.
struct OwnerReading {
  std::optional<LeaseRecord> lease;
  std::optional<StoreVersion> lease_version;  // empty: absent
  std::optional<StoreVersion> beat_version;   // empty: absent
};

// Whether the reading says that the run has ended for good. An absent lease says so, except in the
// quiet time after a new epoch, which the caller has to know of.
bool is_over(const OwnerRun& run, const OwnerReading& reading);

// What has been seen of one owner, as a pure value. Only readings at most renew interval + renew
// timeout apart count as one observation; a gap starts it anew (a store that was away makes nobody
// look dead).
class OwnerObservation {
 public:
  // `sent` and `answered` are the moments around the reading: stillness counts from the answer of
  // the first reading to the sending of the last, never longer than it truly was. `faults` as of
  // BeatWatchMachine.
  void observe(const LeaseConfig& config, const OwnerRun& run, const OwnerReading& reading,
               Instant sent, Instant answered, runtime::Faults* faults = nullptr);
  OwnerVerdict verdict(const LeaseConfig& config, Instant now) const;
  // Whether the beat has stood still for TTL + margin.
  bool may_be_fenced(const LeaseConfig& config, Instant now) const;
  const OwnerReading& last() const { return last_; }
  void forget() { *this = {}; }
  void note(StateNotes& notes, const OwnerRun& run) const;

 private:
  OwnerReading last_;
  bool was_read_ = false;
  bool is_over_ = false;
  bool has_moved_ = false;
  Instant still_since_{};
  Instant last_sent_{};
};

namespace watch {

// Events besides ReadDone, CommitDone and TimerFired.
// Watch this run from now on; repeating it keeps it from being dropped at the bound.
struct Watch {
  OwnerStamp owner;
};
using Event = std::variant<ReadDone, CommitDone, TimerFired, Watch>;

// Actions besides ReadKeys, CommitKeys, ArmTimer and CancelTimer. Each is said once per change.
struct OwnerSilent {
  OwnerRun run;
};
// That run is over, by this node's fence or another's: refuse its frames, drop its mesh session and
// its routes. It is not watched any longer.
struct OwnerFenced {
  OwnerStamp owner;
};
// The run's lease does not parse, and so cannot be fenced: DataLost names it. Once for each version
// of it.
struct BadRecord {
  Error error;
};
using Action =
    std::variant<ReadKeys, CommitKeys, ArmTimer, CancelTimer, OwnerSilent, OwnerFenced, BadRecord>;
using Actions = std::vector<Action>;

}  // namespace watch

// Runs watched at most; past it the one whose last Watch is longest ago is dropped.
inline constexpr std::size_t max_watched_owners = 1024;
// A live run that nobody has asked for so long is not dealt with any more, and no longer watched.
inline constexpr Duration watched_while_idle = std::chrono::minutes(5);

// Reads the beats of the watched owners at half the renew interval and fences those that stood
// still for long enough, under this node's own lease.
class BeatWatchMachine {
 public:
  // `lease` is this node's own (LeaseMachine::view()) and outlives the machine, as do the others.
  // `faults` is null in production; its point is "watch.skip-gap".
  BeatWatchMachine(LeaseConfig config, const LeaseView& lease, Random& random,
                   runtime::Faults* faults = nullptr);

  watch::Actions on_event(const watch::Event& event, Instant now);

  // Unproven for a run that is not watched. A run that was once found Fenced stays known as that
  // for as long as max_watched_owners allows and the store shows no new epoch.
  OwnerVerdict verdict(const OwnerRun& run, Instant now) const;
  void note(StateNotes& notes) const;

 private:
  struct Owner {
    OwnerStamp stamp;
    OwnerObservation observation = {};
    std::uint64_t last_asked = 0;
    Instant last_asked_at{};
    bool is_said_silent = false;
    Ticket fence = 0;                       // of the fence under way
    std::optional<StoreVersion> bad_lease;  // that BadRecord was said of
  };
  struct Round {
    Ticket ticket = 0;
    Instant sent;
    std::vector<OwnerRun> runs;
  };

  void on(const ReadDone& event, Instant now);
  void on(const CommitDone& event, Instant now);
  void on(const TimerFired& event, Instant now);
  void on(const watch::Watch& event, Instant now);

  bool is_known_as_fenced(const OwnerRun& run) const;
  void drop_idle(Instant now);
  void read_all(Instant now);
  void read(std::vector<OwnerRun> runs, Instant now);
  void see(const StoreEpoch& epoch);
  void take(const Round& round, const ReadResult& result, Instant now);
  OwnerReading reading_of(const OwnerRun& run, Owner& owner,
                          const std::optional<StoredValue>& lease,
                          const std::optional<StoredValue>& beat);
  void judge(const OwnerRun& run, Owner& owner, Instant now);
  void send_fence(const OwnerRun& run, Owner& owner);
  void finish(const OwnerStamp& owner);
  void make_room();

  LeaseConfig config_;
  const LeaseView& lease_;
  Random& random_;
  runtime::Faults* faults_;
  std::map<OwnerRun, Owner> owners_;
  std::deque<OwnerRun> fenced_;  // the latest last
  std::vector<Round> rounds_;
  StoreEpoch epoch_;
  std::uint64_t asked_ = 0;
  Ticket next_ticket_ = 1;
  Instant next_round_{};
  watch::Actions actions_;
};

}  // namespace spotmesh::location
