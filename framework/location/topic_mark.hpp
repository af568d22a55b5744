// TopicMarkMachine: keeps this node's mark on one side of a topic, and reads who stands on the
// other. Whoever marks first is seen by whoever reads later, so of a publisher and a subscriber at
// least one learns of the other. The transition table is framework/docs/publish.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "location/lease_view.hpp"
#include "location/machine.hpp"
#include "location/topic_record.hpp"

namespace spotmesh::location {

namespace topic_mark {

// Events besides CommitDone, PageDone and TimerFired.
struct Set {};    // the mark is wanted
struct Clear {};  // it is wanted no more
// The lease has been asserted in a new epoch: whether the mark still stands is not known.
struct Assert {};
using Event = std::variant<CommitDone, PageDone, TimerFired, Set, Clear, Assert>;

// Actions besides CommitKeys, ScanKeys, ArmTimer and CancelTimer.
// The mark stands, and these were read on the other side since. The answer to Set and to Assert.
struct Standing {
  std::vector<OwnerStamp> others;
};
// The mark is gone, and these were read since; a publisher reads nobody. The answer to Clear,
// unless the mark was wanted again meanwhile.
struct Cleared {
  std::vector<OwnerStamp> others;
};
// It takes longer: this stood in the way, and is tried again.
struct Delayed {
  Error error;
};
// A record that cannot be used; the others are. Once for each of its versions.
struct BadRecord {
  Error error;
};
using Action = std::variant<CommitKeys, ScanKeys, ArmTimer, CancelTimer, Standing, Cleared, Delayed,
                            BadRecord>;
using Actions = std::vector<Action>;

inline constexpr std::size_t scan_page = 500;

}  // namespace topic_mark

class TopicMarkMachine {
 public:
  // `lease` is this node's own (LeaseMachine::view()) and outlives the machine, as does `random`.
  TopicMarkMachine(TopicName topic, TopicSide side, const LeaseView& lease, Random& random);

  topic_mark::Actions on_event(const topic_mark::Event& event, Instant now);

  // The mark where it is known to stand, for a clean stop to delete.
  std::optional<Condition> mark() const;
  // Nothing stands in the store, and nothing is wanted or under way.
  bool is_at_rest() const;

 private:
  enum class Place : std::uint8_t { Absent, Uncertain, There };
  enum class Waiting : std::uint8_t { Nothing, Commit, Scan, Backoff };

  void on(const topic_mark::Set& event, Instant now);
  void on(const topic_mark::Clear& event, Instant now);
  void on(const topic_mark::Assert& event, Instant now);
  void on(const CommitDone& event, Instant now);
  void on(const PageDone& event, Instant now);
  void on(const TimerFired& event, Instant now);

  void want(bool is_wanted, Instant now);
  // The next step towards what is wanted, unless one is under way.
  void go_on(Instant now);
  void submit();
  void scan(std::string cursor);
  void take(const ScanEntry& entry);
  void answer();
  void retry_later(Error error, Instant now);

  const TopicName topic_;
  const TopicSide side_;
  const std::string key_;
  const LeaseView& lease_;
  Random& random_;

  bool is_wanted_ = false;
  Place place_ = Place::Absent;
  StoreVersion version_;  // of the mark that is There
  // With Standing or Cleared, since it was asked and since the place became what it is.
  bool has_answered_ = true;
  Waiting waiting_ = Waiting::Nothing;
  Ticket next_ticket_ = 1;
  Ticket awaited_ = 0;
  bool is_writing_mark_ = false;  // of the commit under way: not a deletion
  StoreEpoch epoch_;              // in which it was prepared
  unsigned failures_ = 0;
  Instant retry_at_{};
  std::vector<OwnerStamp> others_;
  std::map<std::string, StoreVersion> bad_;
  topic_mark::Actions actions_;
};

}  // namespace spotmesh::location
