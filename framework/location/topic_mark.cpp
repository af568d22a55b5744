#include "location/topic_mark.hpp"

#include <utility>

#include <spotmesh/limits.hpp>

#include "location/authority.hpp"
#include "location/conflict.hpp"
#include "location/store_pause.hpp"

namespace spotmesh::location {

using Outcome = CommitResult::Outcome;

TopicMarkMachine::TopicMarkMachine(TopicName topic, TopicSide side, const LeaseView& lease,
                                   Random& random)
    : topic_(std::move(topic)),
      side_(side),
      key_(lease.stamp.has_value() ? keys::topic_mark(topic_, side, lease.stamp->rid)
                                   : std::string()),
      lease_(lease),
      random_(random) {}

topic_mark::Actions TopicMarkMachine::on_event(const topic_mark::Event& event, Instant now) {
  actions_.clear();
  std::visit([&](const auto& each) { on(each, now); }, event);
  return std::move(actions_);
}

std::optional<Condition> TopicMarkMachine::mark() const {
  if (place_ != Place::There) return {};
  return Condition{key_, version_};
}

bool TopicMarkMachine::is_at_rest() const {
  return !is_wanted_ && place_ == Place::Absent && has_answered_ && waiting_ == Waiting::Nothing;
}

void TopicMarkMachine::on(const topic_mark::Set&, Instant now) { want(true, now); }

void TopicMarkMachine::on(const topic_mark::Clear&, Instant now) { want(false, now); }

// Who asks for the opposite waits for an answer, also where the place never became what it was
// asked to be before.
void TopicMarkMachine::want(bool is_wanted, Instant now) {
  if (std::exchange(is_wanted_, is_wanted) != is_wanted) has_answered_ = false;
  go_on(now);
}

void TopicMarkMachine::on(const topic_mark::Assert&, Instant now) {
  if (!is_wanted_ && place_ == Place::Absent) return;
  place_ = Place::Uncertain;
  failures_ = 0;
  if (waiting_ == Waiting::Commit) return;  // its answer leads on
  if (waiting_ == Waiting::Backoff) actions_.push_back(CancelTimer{});
  waiting_ = Waiting::Nothing;
  go_on(now);
}

void TopicMarkMachine::on(const TimerFired&, Instant now) {
  if (waiting_ != Waiting::Backoff || now < retry_at_) return;
  waiting_ = Waiting::Nothing;
  go_on(now);
}

void TopicMarkMachine::go_on(Instant now) {
  if (waiting_ == Waiting::Commit || waiting_ == Waiting::Backoff || !lease_.is_held) return;
  const Place wanted = is_wanted_ ? Place::There : Place::Absent;
  if (place_ == wanted && (has_answered_ || waiting_ == Waiting::Scan)) return;
  if (place_ == Place::Absent && !is_wanted_ && side_ == TopicSide::Publishers) return answer();
  if (!lease_.admits(now)) {
    return retry_later(Error::unavailable("this node's lease has run out and is not renewed yet"),
                       now);
  }
  if (place_ != wanted) return submit();
  scan({});
}

void TopicMarkMachine::submit() {
  is_writing_mark_ = is_wanted_;
  epoch_ = lease_.epoch;
  Commit commit = owned_commit(lease_);
  commit.writes.push_back(
      {key_, is_wanted_ ? std::optional(encode(TopicMark{*lease_.stamp, topic_})) : std::nullopt});
  waiting_ = Waiting::Commit;
  awaited_ = next_ticket_++;
  actions_.push_back(CommitKeys{awaited_, std::move(commit)});
}

// Nobody else writes this key, and writing it twice is writing it once: whatever an unknown commit
// has done, the next one settles.
void TopicMarkMachine::on(const CommitDone& event, Instant now) {
  if (waiting_ != Waiting::Commit || event.ticket != awaited_) return;
  waiting_ = Waiting::Nothing;
  const CommitResult& result = event.result;
  switch (result.outcome) {
    case Outcome::Ok:
      failures_ = 0;
      place_ = is_writing_mark_ ? Place::There : Place::Absent;
      if (epoch_ != lease_.epoch) place_ = Place::Uncertain;
      version_ = result.versions.front();
      has_answered_ = false;
      return go_on(now);
    case Outcome::Conflict:
      // Its one condition is the lease: nobody else writes the mark.
      return retry_later(
          Error::unavailable(std::string(describe(cause_of(result.failed_key, lease_)))), now);
    case Outcome::Unknown:
      place_ = Place::Uncertain;
      [[fallthrough]];
    case Outcome::Unavailable:
      return retry_later(Error::unavailable("the Location Store is away: " + result.message), now);
    case Outcome::Malformed:
      // Nor would it be taken the next time.
      actions_.push_back(topic_mark::Delayed{Error::internal_failure(result.message)});
      return;
  }
}

void TopicMarkMachine::scan(std::string cursor) {
  if (cursor.empty()) others_.clear();
  waiting_ = Waiting::Scan;
  awaited_ = next_ticket_++;
  actions_.push_back(ScanKeys{awaited_, keys::topic_marks(topic_, other(side_)), std::move(cursor),
                              topic_mark::scan_page});
}

void TopicMarkMachine::on(const PageDone& event, Instant now) {
  if (waiting_ != Waiting::Scan || event.ticket != awaited_) return;
  waiting_ = Waiting::Nothing;
  if (!event.page) return retry_later(event.page.error(), now);
  if (event.page->epoch != lease_.epoch) {
    return retry_later(Error::unavailable("the store shows another epoch"), now);
  }
  failures_ = 0;
  for (const ScanEntry& entry : event.page->entries) take(entry);
  if (!event.page->next.empty()) return scan(event.page->next);
  answer();
}

void TopicMarkMachine::take(const ScanEntry& entry) {
  auto mark = decode_topic_mark(entry.key, entry.stored.value);
  if (!mark) {
    const auto known = bad_.find(entry.key);
    if (known != bad_.end() && known->second == entry.stored.version) return;
    if (bad_.size() >= limits::nodes_per_topic) bad_.clear();
    bad_.insert_or_assign(entry.key, entry.stored.version);
    actions_.push_back(topic_mark::BadRecord{mark.error()});
    return;
  }
  const bool is_of_this_run = mark->stamp.rid == lease_.stamp->rid;
  if (mark->topic != topic_ || is_of_this_run) return;
  if (others_.size() < limits::nodes_per_topic) others_.push_back(std::move(mark->stamp));
}

void TopicMarkMachine::answer() {
  has_answered_ = true;
  if (is_wanted_) {
    actions_.push_back(topic_mark::Standing{std::exchange(others_, {})});
  } else {
    actions_.push_back(topic_mark::Cleared{std::exchange(others_, {})});
  }
}

void TopicMarkMachine::retry_later(Error error, Instant now) {
  waiting_ = Waiting::Backoff;
  retry_at_ = now + store_pause(random_, ++failures_);
  actions_.push_back(ArmTimer{retry_at_});
  actions_.push_back(topic_mark::Delayed{std::move(error)});
}

}  // namespace spotmesh::location
