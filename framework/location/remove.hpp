// Carrying the end of an object of this node through: destroy, close, what a creation left over.
// The table is framework/docs/creation.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "location/authority.hpp"
#include "location/lease.hpp"
#include "location/machine.hpp"

namespace spotmesh::location {

struct RemoveRequest {
  std::string what;  // for error texts: "destroy of Actor 'x'"
  std::string key;
  ObjectGeneration generation;
  // As this node last knew it; empty: the record is read first.
  std::optional<StoreVersion> version;
  Instant deadline;                     // by when whoever asked is told why it is not done yet
  std::vector<std::string> companions;  // further keys that go with the record, in one commit
};

struct RemoveOutcome {
  enum class Kind : std::uint8_t {
    Removed,    // by this machine, or forgotten by the store
    Gone,       // the record was not there any more
    Other,      // another incarnation, or another owner, has the id; `error` says which
    LeaseLost,  // nothing more can be done by this node
    Damaged     // the record does not parse, or the store takes no such deletion
  };
  Kind kind = Kind::LeaseLost;
  std::optional<Error> error;  // of Other: InvalidOperation; of LeaseLost: Unavailable; of Damaged
};

namespace remove {

struct Start {};
using Event = std::variant<Start, ReadDone, CommitDone, TimerFired>;

// It cannot be done now and goes on: Unavailable with the reason, for whoever waits.
struct Delayed {
  Error error;
};
// Last action, exactly once.
struct Finished {
  RemoveOutcome outcome;
};
using Action = std::variant<ReadKeys, CommitKeys, ArmTimer, CancelTimer, Delayed, Finished>;
using Actions = std::vector<Action>;

}  // namespace remove

// Deletes the record of one incarnation that this node owns, and ends only when that has become
// certain or the lease is lost. In the quiet time of a new epoch it waits.
class RemoveMachine {
 public:
  // `lease` and `random` outlive the machine.
  RemoveMachine(RemoveRequest request, const LeaseView& lease, Random& random);
  remove::Actions on_event(const remove::Event& event, Instant now);
  void note(StateNotes& notes) const;

 private:
  enum class Waiting : std::uint8_t { Nothing, Commit, Read, Pause };
  // There is no record any more, and the companions remain to be deleted.
  struct Absent {
    RemoveOutcome::Kind kind;
    std::optional<StoreVersion> vacant;  // of the Vacant record; empty: none
  };

  void on(const remove::Start& event, Instant now);
  void on(const ReadDone& event, Instant now);
  void on(const CommitDone& event, Instant now);
  void on(const TimerFired& event, Instant now);
  void go_on(Instant now);
  void read();
  void commit();
  void judge(const StoredValue& stored, Instant now);
  void on_absent(Absent absent, const StoreEpoch& epoch, Instant now);
  void pause(Instant now);
  void delayed(std::string_view reason);
  void finish(RemoveOutcome outcome);
  std::string text(std::string_view rest) const;

  RemoveRequest request_;
  const LeaseView& lease_;
  Random& random_;
  Waiting waiting_ = Waiting::Nothing;
  bool is_finished_ = false;
  bool must_read_;           // what is known of the record may be out of date
  bool is_unknown_ = false;  // a deletion was sent whose outcome is not known
  bool is_told_ = false;     // that the deadline has passed
  std::optional<Absent> absent_;
  StoreEpoch known_in_;  // where the record was last seen
  std::string reason_;
  unsigned failures_ = 0;
  Instant retry_at_{};
  Ticket next_ticket_ = 1;
  Ticket awaited_ = 0;
  remove::Actions actions_;
};

}  // namespace spotmesh::location
