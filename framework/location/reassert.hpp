// Re-asserting what this node owns in a store that has forgotten, within the window of its new
// epoch. The table is framework/docs/lease.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "location/authority.hpp"
#include "location/lease.hpp"
#include "location/machine.hpp"

namespace spotmesh::location {

// An object that this node held when the store came back.
struct HeldObject {
  std::string key;
  AuthorityRecord record;
  // Its id is this run's own, so nobody can have taken it: it may also be asserted when the window
  // for the others has closed (an Entry Spot).
  bool is_unrivalled = false;
};

namespace reassert {

struct Start {};
// The node has let go of the object meanwhile.
struct Forget {
  std::string key;
};
using Event = std::variant<Start, ReadDone, CommitDone, TimerFired, Forget>;

// The store shows the record as this node has it, under `version`.
struct Asserted {
  std::string key;
  StoreVersion version;
};
// Another owns it, or nobody can tell, or it was not asserted in time: drop the object, write
// nothing of it. DataLost when its record does not parse.
struct SteppedDown {
  std::string key;
  Error reason;
};
// A commit about an object that was let go of while the commit was under way has been answered: a
// record that it may have left can be removed now, and not before.
struct Leftover {
  std::string key;
  ObjectGeneration generation;
};
// What has a rival is decided for every object: what is left of it may be admitted again.
struct Decided {};
// Last action: there is nothing left to assert, or another epoch has come.
struct Finished {};
using Action = std::variant<ReadKeys, CommitKeys, ArmTimer, CancelTimer, Asserted, SteppedDown,
                            Leftover, Decided, Finished>;
using Actions = std::vector<Action>;

// Objects that are read together, and written together where the store had forgotten them.
inline constexpr std::size_t objects_per_batch = 60;

}  // namespace reassert

// One batch after the other, each a read and, where needed, one commit on condition of all that
// was read. Closes at the moment the admission of the former epoch ends: whoever may have been
// taken for dead asserts nothing any more. One machine per epoch.
class ReassertMachine {
 public:
  // Made when the lease stands in the new epoch. `objects` in the order in which they are to be
  // asserted. `closes_at`: what the last renewal before the new epoch gave them, at most
  // LeaseView::former_admission_deadline. `environment` outlives the machine.
  ReassertMachine(std::vector<HeldObject> objects, Instant closes_at,
                  const AuthorityEnvironment& environment);
  reassert::Actions on_event(const reassert::Event& event, Instant now);
  // Whether a commit about the record is under way. If the object is let go of now, Leftover
  // follows.
  bool is_writing(std::string_view key) const;
  void note(StateNotes& notes) const;

 private:
  enum class Waiting : std::uint8_t { Nothing, Read, Commit, Pause };
  struct Written {
    std::string key;
    ObjectGeneration generation;
  };

  void on(const reassert::Start& event, Instant now);
  void on(const ReadDone& event, Instant now);
  void on(const CommitDone& event, Instant now);
  void on(const TimerFired& event, Instant now);
  void on(const reassert::Forget& event, Instant now);

  void next(Instant now);
  void decide(const ReadResult& result, Instant now);
  // Whether the object must be written; the others are done with.
  bool must_write(const HeldObject& object, const std::optional<StoredValue>& stored);
  void pause(Instant now);
  void close_in_time(Instant now);
  void say_decided();
  void finish();
  bool has_rivals() const;
  bool is_superseded() const { return environment_.lease.epoch != epoch_; }

  std::deque<HeldObject> waiting_objects_;
  const AuthorityEnvironment& environment_;
  const StoreEpoch epoch_;
  const Instant closes_at_;
  Waiting waiting_ = Waiting::Nothing;
  std::vector<HeldObject> batch_;       // being read, or read and being written
  std::vector<std::string> read_keys_;  // of the read under way
  std::vector<Written> in_commit_;      // of the commit under way, whatever was let go of since
  bool is_closed_ = false;
  bool is_decided_ = false;
  bool is_finished_ = false;
  unsigned failures_ = 0;
  Instant retry_at_{};
  Ticket next_ticket_ = 1;
  Ticket awaited_ = 0;
  reassert::Actions actions_;
};

}  // namespace spotmesh::location
