// Carrying one prepared commit of this owner to a certain outcome: membership changes, destroy,
// close. The table is framework/docs/creation.md.
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
#include "location/lease.hpp"
#include "location/machine.hpp"

namespace spotmesh::location {

struct SettleOutcome {
  enum class Kind : std::uint8_t {
    Applied,    // `versions` has one per write, in order; of a delete that was settled by
                // re-reading the version is the default
    Conflict,   // for certain not applied: the record at `failed_key` is another one; never the
                // epoch nor this node's lease
    NotApplied  // for certain not applied, or the lease is lost and it does not count; `error`, an
                // Unavailable, says which: deadline, lease, epoch or store
  };
  Kind kind = Kind::NotApplied;
  std::vector<StoreVersion> versions;
  std::string failed_key;
  std::optional<Error> error;
};

namespace settle {

struct Start {};
using Event = std::variant<Start, ReadDone, CommitDone, TimerFired>;

// Last action, exactly once.
struct Finished {
  SettleOutcome outcome;
};
using Action = std::variant<ReadKeys, CommitKeys, ArmTimer, CancelTimer, Finished>;
using Actions = std::vector<Action>;

}  // namespace settle

// Submits the commit while the lease admits writes, tries again what the store could not do, with
// the same conditions, and settles an unknown outcome by re-reading. Past the deadline nothing new
// is submitted, but an unknown is settled first: no deadline decides it. A lost lease ends it,
// since nothing more can then be known to matter.
class CommitMachine {
 public:
  // `commit` comes from owned_commit() and its kin, has at least one write, and each written key
  // stands among its conditions; that is what makes re-reading decisive. `what` is for error texts
  // ("Join of Actor 'x' to Spot 'y'"). `lease` and `random` outlive the machine.
  CommitMachine(std::string what, Commit commit, Instant deadline, const LeaseView& lease,
                Random& random);
  settle::Actions on_event(const settle::Event& event, Instant now);

 private:
  enum class Waiting : std::uint8_t { Nothing, Commit, Read, Backoff };

  void on(const settle::Start& event, Instant now);
  void on(const ReadDone& event, Instant now);
  void on(const CommitDone& event, Instant now);
  void on(const TimerFired& event, Instant now);
  void submit(Instant now);
  void reread();
  void on_not_applied(const std::string& key, const std::optional<StoredValue>& stored,
                      Instant now);
  void retry_later(Instant now);
  void give_up(std::string_view reason);
  void give_up(Error error);
  void finish(SettleOutcome outcome);

  std::string what_;
  Commit commit_;
  Instant deadline_;
  const LeaseView& lease_;
  Random& random_;
  Waiting waiting_ = Waiting::Nothing;
  bool is_unknown_ = false;
  bool is_finished_ = false;
  unsigned failures_ = 0;
  Instant retry_at_{};
  std::string reason_ = "the deadline had passed";
  Ticket next_ticket_ = 1;
  Ticket awaited_ = 0;
  settle::Actions actions_;
};

}  // namespace spotmesh::location
