#include "location/lease.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/retry_pause.hpp"

namespace spotmesh::location {

using Outcome = CommitResult::Outcome;

namespace {

using namespace std::chrono_literals;

constexpr Duration first_pause = 100ms;
constexpr Duration last_pause = 1s;
// Renewals without an answer that may still be counted when it comes.
constexpr std::size_t max_renewals_under_way = 4;

}  // namespace

LeaseMachine::LeaseMachine(LeaseConfig config, OwnerId owner, NodeRid rid, LifecycleId lifecycle,
                           Random& random)
    : config_(config),
      owner_(std::move(owner)),
      rid_(std::move(rid)),
      lifecycle_(lifecycle),
      random_(random) {}

lease::Actions LeaseMachine::on_event(const lease::Event& event, Instant now) {
  actions_.clear();
  if (state_ != State::Ended) {
    std::visit([&](const auto& each) { on(each, now); }, event);
    if (state_ != State::Ended) arm();
  }
  return std::move(actions_);
}

// Events.

void LeaseMachine::on(const lease::Start&, Instant) {
  if (state_ != State::Idle) return;
  state_ = State::Acquiring;
  look();
}

void LeaseMachine::on(const lease::EpochSeen& event, Instant) {
  // The answer may be older than what is known; only a new look decides.
  if (state_ == State::Held && event.epoch != view_.epoch && waiting_ == Waiting::Nothing) look();
}

void LeaseMachine::on(const lease::Doubted&, Instant) {
  if (state_ == State::Held && waiting_ == Waiting::Nothing) look();
}

void LeaseMachine::on(const lease::Release&, Instant now) {
  const bool was_held = state_ == State::Held;
  view_.is_held = false;
  // A lease that is only being acquired or asserted is not pursued; it runs out if it came to be.
  if (!was_held) return end(lease::Released{});
  state_ = State::Releasing;
  release_until_ = now + config_.renew_timeout;
  release(now);
}

void LeaseMachine::on(const TimerFired&, Instant now) {
  if (state_ == State::Releasing && now >= release_until_) return end(lease::Released{});
  if (waiting_ == Waiting::Backoff && now >= retry_at_) {
    waiting_ = Waiting::Nothing;
    if (state_ == State::Releasing) {
      release(now);
    } else {
      look();
    }
  }
  if (state_ != State::Held) return;
  if (is_quiet_ && now >= view_.quiet_until) end_quiet_time();
  if (now >= next_renewal_) renew(now);
}

void LeaseMachine::on(const ReadDone& event, Instant now) {
  if (event.ticket == settling_) {
    settling_ = 0;
    Seen before = std::exchange(seen_, {});
    if (event.result && take(*event.result)) settle_epoch(seen_);
    seen_ = std::move(before);
    return;
  }
  if (waiting_ != Waiting::Read || event.ticket != awaited_) return;
  waiting_ = Waiting::Nothing;
  if (!event.result) return try_later(now);
  if (!take(*event.result)) return;
  failures_ = 0;
  if (state_ == State::Acquiring) return acquire(now);
  if (state_ == State::Held) return check_held(now);
  if (state_ == State::Reasserting) reassert(now);
}

void LeaseMachine::on(const CommitDone& event, Instant now) {
  if (event.ticket == settling_) {
    settling_ = 0;
    // Anything but Ok is tried again after the next renewal.
    if (event.result.outcome == Outcome::Ok) must_settle_epoch_ = false;
    return;
  }
  if (on_late_renewal(event, now)) return;
  if (waiting_ != Waiting::Commit || event.ticket != awaited_) return;
  waiting_ = Waiting::Nothing;
  const CommitResult& result = event.result;
  if (state_ == State::Releasing) {
    if (result.outcome == Outcome::Unavailable) return try_later(now);
    return end(lease::Released{});
  }
  switch (result.outcome) {
    case Outcome::Ok:
      failures_ = 0;
      if (state_ == State::Acquiring) return acquired(result.versions.at(0), now);
      return reasserted(result.versions.at(0));
    case Outcome::Conflict:
    case Outcome::Unknown:
      // What the store shows now decides; a commit of ours in it is found there.
      return look();
    case Outcome::Unavailable:
      return try_later(now);
    case Outcome::Malformed:
      if (state_ != State::Acquiring) return fence(result.message);
      return end(lease::AcquireFailed{Error::internal_failure(result.message)});
  }
}

// Operations.

void LeaseMachine::look() {
  waiting_ = Waiting::Read;
  awaited_ = next_ticket_++;
  actions_.push_back(ReadKeys{awaited_, {keys::lease(owner_), keys::lease_counter()}});
}

void LeaseMachine::commit(Commit commit, Instant now) {
  waiting_ = Waiting::Commit;
  awaited_ = next_ticket_++;
  sent_ = now;
  actions_.push_back(CommitKeys{awaited_, std::move(commit)});
}

void LeaseMachine::try_later(Instant now) {
  waiting_ = Waiting::Backoff;
  retry_at_ = now + retry_pause(random_, ++failures_, first_pause, last_pause);
}

void LeaseMachine::arm() {
  Instant next = Instant::max();
  if (waiting_ == Waiting::Backoff) next = std::min(next, retry_at_);
  if (state_ == State::Releasing) next = std::min(next, release_until_);
  if (state_ == State::Held) {
    next = std::min(next, next_renewal_);
    if (is_quiet_) next = std::min(next, view_.quiet_until);
  }
  if (next != Instant::max()) actions_.push_back(ArmTimer{next});
}

// Parses what a look showed. A damaged record is no state to act on: the lease is given up.
bool LeaseMachine::take(const ReadResult& result) {
  seen_ = {};
  seen_.epoch = result.epoch;
  std::optional<Error> damage;
  if (const auto& stored = result.values.at(0)) {
    seen_.lease_version = stored->version;
    auto lease = decode_lease(keys::lease(owner_), stored->value);
    if (lease) {
      seen_.lease = std::move(*lease);
    } else {
      damage = lease.error();
    }
  }
  if (const auto& stored = result.values.at(1)) {
    seen_.counter_version = stored->version;
    auto counter = decode_lease_counter(keys::lease_counter(), stored->value);
    if (counter) {
      seen_.counter = *counter;
    } else {
      damage = counter.error();
    }
  }
  if (!damage) return true;
  if (state_ == State::Acquiring) {
    end(lease::AcquireFailed{*damage});
  } else {
    fence(damage->message());
  }
  return false;
}

OwnerStamp LeaseMachine::stamp(LeaseGeneration generation) const {
  return {.owner = owner_, .lease_generation = generation, .rid = rid_, .lifecycle = lifecycle_};
}

bool LeaseMachine::is_own(const OwnerStamp& stamp) const {
  return stamp.lifecycle == lifecycle_ && stamp.rid == rid_;
}

// Acquiring.

void LeaseMachine::acquire(Instant now) {
  if (seen_.lease && is_own(seen_.lease->stamp)) {
    if (seen_.lease->state == LeaseState::Fenced) {
      return end(lease::AcquireFailed{Error::unavailable(
          "the lease was fenced before this node learned that it had acquired it")});
    }
    // An unknown commit of ours that was applied. What it says of the epoch counts in that epoch
    // only: a store that has failed over since is not settled, and the lease is acquired anew.
    if (seen_.counter && seen_.counter->epoch == seen_.epoch) {
      proposed_ = seen_.lease->stamp.lease_generation;
      proposed_is_settled_ = seen_.counter->is_settled;
      return acquired(*seen_.lease_version, now);
    }
  } else if (seen_.lease && seen_.lease->state == LeaseState::Live) {
    return end(lease::AcquireFailed{Error::unavailable(fmt::format(
        "owner id \"{}\" is in use by node {}", owner_.text(), seen_.lease->stamp.rid.text))});
  }
  LeaseCounterRecord counter = seen_.counter.value_or(first_counter());
  if (counter.epoch != seen_.epoch) {
    counter.last.value += epoch_step();
    counter.epoch = seen_.epoch;
    counter.is_settled = false;
  }
  counter.last.value += 1;
  if (counter.last.value > max_lease_generation) {
    return end(lease::AcquireFailed{Error::internal_failure(fmt::format(
        "generation exhausted: the store's lease counter has reached {}", max_lease_generation))});
  }
  proposed_ = counter.last;
  proposed_is_settled_ = counter.is_settled;
  commit(assertion(counter), now);
}

// A store without a counter is new, or has forgotten everything: those who were there before had
// generations from some other number on.
LeaseCounterRecord LeaseMachine::first_counter() {
  return {.last = {random_below(random_, lease_generation_epoch_spread)},
          .epoch = seen_.epoch,
          .is_settled = true};
}

std::uint64_t LeaseMachine::epoch_step() {
  return lease_generation_epoch_step + random_below(random_, lease_generation_epoch_spread);
}

// Lease, beat and counter in one commit on top of what was seen; the lease comes first.
Commit LeaseMachine::assertion(const LeaseCounterRecord& counter) {
  const std::string lease_key = keys::lease(owner_);
  Commit commit;
  commit.epoch = seen_.epoch;
  commit.conditions = {{lease_key, seen_.lease_version}};
  commit.writes = {{lease_key, encode(LeaseRecord{stamp(proposed_), LeaseState::Live})},
                   {keys::beat(owner_), encode(BeatRecord{++beat_})}};
  // Untouched if it says so already: after a new epoch all nodes come here at once.
  if (seen_.counter != counter) {
    commit.conditions.push_back({keys::lease_counter(), seen_.counter_version});
    commit.writes.push_back({keys::lease_counter(), encode(counter)});
  }
  return commit;
}

void LeaseMachine::acquired(const StoreVersion& version, Instant now) {
  view_.stamp = stamp(proposed_);
  hold(version);
  if (!proposed_is_settled_) {
    is_quiet_ = true;
    view_.quiet_until = now + config_.quiet_time();
  }
  actions_.push_back(lease::Acquired{});
}

void LeaseMachine::hold(const StoreVersion& version) {
  state_ = State::Held;
  view_.is_held = true;
  view_.lease_version = version;
  view_.epoch = version.epoch;
  view_.admission_deadline = sent_ + config_.admission_time();
  renewals_.clear();
  renewal_failures_ = 0;
  next_renewal_ = sent_ + config_.renew_interval;
}

// Held.

void LeaseMachine::check_held(Instant now) {
  if (seen_.epoch != view_.epoch) return begin_reassertion(now);
  if (!seen_.lease) return fence("the lease is gone from the store");
  if (seen_.lease->stamp != *view_.stamp) {
    return fence(fmt::format("the lease belongs to node {} now", seen_.lease->stamp.rid.text));
  }
  if (seen_.lease->state == LeaseState::Fenced) return fence("another node has fenced the lease");
  view_.lease_version = *seen_.lease_version;
}

void LeaseMachine::renew(Instant now) {
  Commit commit;
  commit.epoch = view_.epoch;
  commit.conditions = {{keys::lease(owner_), view_.lease_version}};
  commit.writes = {{keys::beat(owner_), encode(BeatRecord{++beat_})}};
  if (renewals_.size() == max_renewals_under_way) renewals_.erase(renewals_.begin());
  renewals_.push_back({next_ticket_++, now});
  actions_.push_back(CommitKeys{renewals_.back().ticket, std::move(commit)});
  // Unless an answer says otherwise before.
  next_renewal_ = now + config_.renew_timeout;
}

bool LeaseMachine::on_late_renewal(const CommitDone& event, Instant now) {
  const auto found = std::find_if(renewals_.begin(), renewals_.end(),
                                  [&](const Renewal& each) { return each.ticket == event.ticket; });
  if (found == renewals_.end()) return false;
  const Renewal renewal = *found;
  renewals_.erase(found);
  if (state_ == State::Held) on_renewal(renewal, event.result, now);
  return true;
}

void LeaseMachine::on_renewal(const Renewal& renewal, const CommitResult& result, Instant now) {
  switch (result.outcome) {
    case Outcome::Ok:
      renewal_failures_ = 0;
      next_renewal_ = std::max(now, renewal.sent + config_.renew_interval);
      extend(renewal.sent);
      if (must_settle_epoch_ && settling_ == 0) {
        settling_ = next_ticket_++;
        actions_.push_back(ReadKeys{settling_, {keys::lease(owner_), keys::lease_counter()}});
      }
      return;
    case Outcome::Conflict:
      if (waiting_ == Waiting::Nothing) look();
      return;
    case Outcome::Unavailable:
    case Outcome::Unknown:
    case Outcome::Malformed:
      // Whether an unknown one moved the beat does not matter; it extends nothing here.
      next_renewal_ = now + retry_pause(random_, ++renewal_failures_, first_pause, last_pause);
      return;
  }
}

void LeaseMachine::extend(Instant sent) {
  const Instant deadline = sent + config_.admission_time();
  if (deadline <= view_.admission_deadline) return;
  view_.admission_deadline = deadline;
  actions_.push_back(lease::Extended{});
}

// A new epoch.

void LeaseMachine::begin_reassertion(Instant now) {
  state_ = State::Reasserting;
  view_.former_admission_deadline = view_.admission_deadline;
  view_.admission_deadline = Instant{Duration::min()};
  view_.epoch = seen_.epoch;
  view_.quiet_until = now + config_.quiet_time();
  is_quiet_ = true;
  must_settle_epoch_ = false;
  settling_ = 0;
  renewals_.clear();
  proposed_ = view_.stamp->lease_generation;
  actions_.push_back(lease::EpochChanged{});
  reassert(now);
}

void LeaseMachine::reassert(Instant now) {
  if (now >= view_.former_admission_deadline) {
    return fence("the store came back with a new epoch after the admission of this node had ended");
  }
  if (seen_.epoch != view_.epoch) {
    // Yet another epoch: nothing was asserted in the one between.
    view_.epoch = seen_.epoch;
    view_.quiet_until = now + config_.quiet_time();
    actions_.push_back(lease::EpochChanged{});
  }
  if (seen_.lease && seen_.lease->stamp != *view_.stamp) {
    return fence(fmt::format("the lease belongs to node {} in the store's new epoch",
                             seen_.lease->stamp.rid.text));
  }
  if (seen_.lease && seen_.lease->state == LeaseState::Fenced) {
    return fence("another node has fenced the lease");
  }
  LeaseCounterRecord counter{.last = {}, .epoch = seen_.epoch, .is_settled = false};
  if (seen_.counter) counter = *seen_.counter;
  if (counter.epoch != seen_.epoch || !seen_.counter) {
    counter.last.value = std::min(std::max(counter.last.value, proposed_.value) + epoch_step(),
                                  max_lease_generation);
    counter.epoch = seen_.epoch;
    counter.is_settled = false;
  }
  counter.last = std::max(counter.last, proposed_);
  commit(assertion(counter), now);
}

void LeaseMachine::reasserted(const StoreVersion& version) {
  hold(version);
  actions_.push_back(lease::Reasserted{});
}

void LeaseMachine::end_quiet_time() {
  is_quiet_ = false;
  must_settle_epoch_ = true;
  actions_.push_back(lease::QuietTimeOver{});
}

// Tells later comers that the quiet time of this epoch is over.
void LeaseMachine::settle_epoch(const Seen& seen) {
  if (!seen.counter || seen.epoch != view_.epoch || seen.counter->epoch != view_.epoch ||
      seen.counter->is_settled) {
    must_settle_epoch_ = false;
    return;
  }
  LeaseCounterRecord counter = *seen.counter;
  counter.is_settled = true;
  Commit commit;
  commit.epoch = view_.epoch;
  commit.conditions = {{keys::lease(owner_), view_.lease_version},
                       {keys::lease_counter(), seen.counter_version}};
  commit.writes = {{keys::lease_counter(), encode(counter)}};
  settling_ = next_ticket_++;
  actions_.push_back(CommitKeys{settling_, std::move(commit)});
}

// The end.

void LeaseMachine::release(Instant now) {
  Commit give_back;
  give_back.conditions = {{keys::lease(owner_), view_.lease_version}};
  give_back.writes = {{keys::lease(owner_), std::nullopt},
                      {keys::beat(owner_), std::nullopt},
                      {keys::node(view_.stamp->rid), std::nullopt}};
  commit(std::move(give_back), now);
}

void LeaseMachine::fence(std::string reason) {
  view_.is_held = false;
  end(lease::Fenced{std::move(reason)});
}

void LeaseMachine::end(lease::Action last) {
  state_ = State::Ended;
  waiting_ = Waiting::Nothing;
  actions_.push_back(CancelTimer{});
  actions_.push_back(std::move(last));
}

}  // namespace spotmesh::location
