// Deleting the leases of runs that were fenced long ago, and their Entry Spots' records with them,
// so that the store does not grow with every crash. The table is in framework/docs/lease.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "location/lease_view.hpp"
#include "location/machine.hpp"
#include "location/store.hpp"

namespace spotmesh::location {

namespace sweep {

// Events besides PageDone, CommitDone and TimerFired.
// This node holds its lease. Once.
struct Start {};
struct Stop {};
using Event = std::variant<Start, Stop, PageDone, CommitDone, TimerFired>;

// ScanKeys, CommitKeys, ArmTimer and CancelTimer are all that it asks for.
using Action = std::variant<ScanKeys, CommitKeys, ArmTimer, CancelTimer>;
using Actions = std::vector<Action>;

// From one sweep to the next, less up to a quarter.
inline constexpr Duration interval = std::chrono::minutes(10);
// How long this node must have seen the same fence before it deletes it. An absent lease says of a
// run what a fenced one does, except in the quiet time after a new epoch, and not which lifecycle
// it was; by then whatever that run has left under way has long been cut off.
inline constexpr Duration kept_for = std::chrono::hours(1);
inline constexpr std::size_t scan_page = 500;
inline constexpr std::size_t most_remembered = 4096;
inline constexpr std::size_t most_deleted_at_once = 64;
// Of one run: as many as go into one commit.
inline constexpr std::size_t most_entry_spots_deleted = 100;

}  // namespace sweep

class LeaseSweep {
 public:
  // `lease` is this node's own (LeaseMachine::view()) and outlives the machine, as does `random`.
  LeaseSweep(const LeaseView& lease, Random& random) : lease_(lease), random_(random) {}

  sweep::Actions on_event(const sweep::Event& event, Instant now);

 private:
  struct Fence {
    StoreVersion version;
    Instant seen_at;
    std::uint64_t seen_in = 0;  // the last sweep that has met it
  };

  void on(const sweep::Start& event, Instant now);
  void on(const sweep::Stop& event, Instant now);
  void on(const PageDone& event, Instant now);
  void on(const CommitDone&, Instant) {}  // whatever came of it, the next sweep shows
  void on(const TimerFired& event, Instant now);

  // A lease that is to go.
  struct Old {
    std::string key;
    StoreVersion version;
  };

  void scan();
  bool may_act(Instant now) const;
  void take(const ScanEntry& entry, Instant now);
  void go_on(Instant now);
  void look_at(Old old);
  void remove(const Old& old, const std::vector<ScanEntry>& entry_spots);
  void end_sweep();
  void pause(Instant now);

  const LeaseView& lease_;
  Random& random_;
  StoreEpoch epoch_;
  std::map<std::string, Fence> fences_;
  std::uint64_t sweep_ = 0;
  std::string cursor_;  // of the page that comes next; empty: none
  std::deque<Old> old_;
  std::optional<Old> looked_at_;  // its Entry Spots are being read
  std::size_t deleted_ = 0;       // in this sweep
  Instant next_sweep_{};
  Ticket next_ticket_ = 1;
  Ticket awaited_ = 0;
  bool is_started_ = false;
  sweep::Actions actions_;
};

}  // namespace spotmesh::location
