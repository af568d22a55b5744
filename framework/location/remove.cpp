#include "location/remove.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "location/conflict.hpp"
#include "location/keys.hpp"
#include "location/store_pause.hpp"

namespace spotmesh::location {

using Outcome = CommitResult::Outcome;
using Kind = RemoveOutcome::Kind;

RemoveMachine::RemoveMachine(RemoveRequest request, const LeaseView& lease, Random& random)
    : request_(std::move(request)),
      lease_(lease),
      random_(random),
      must_read_(!request_.version),
      known_in_(request_.version ? request_.version->epoch : lease.epoch),
      reason_("the Location Store has not answered") {}

remove::Actions RemoveMachine::on_event(const remove::Event& event, Instant now) {
  actions_.clear();
  if (!is_finished_) {
    std::visit([&](const auto& each) { on(each, now); }, event);
    if (!is_finished_) {
      const Instant told_at = is_told_ ? Instant::max() : request_.deadline;
      const Instant next = waiting_ == Waiting::Pause ? std::min(retry_at_, told_at) : told_at;
      if (next != Instant::max()) actions_.push_back(ArmTimer{next});
    }
  }
  return std::move(actions_);
}

void RemoveMachine::on(const remove::Start&, Instant now) { go_on(now); }

void RemoveMachine::on(const TimerFired&, Instant now) {
  if (!is_told_ && now >= request_.deadline) {
    is_told_ = true;
    delayed(reason_);
  }
  if (waiting_ == Waiting::Pause && now >= retry_at_) go_on(now);
}

void RemoveMachine::go_on(Instant now) {
  waiting_ = Waiting::Nothing;
  if (!lease_.is_held) {
    return finish({Kind::LeaseLost, Error::unavailable(text("this node has lost its lease"))});
  }
  if (must_read_ || is_unknown_ || known_in_ != lease_.epoch) return read();
  if (!lease_.may_create(now)) {
    reason_ = lease_.admits(now) ? "nothing is removed in the quiet time of a new epoch of the "
                                   "Location Store"
                                 : "this node's lease has run out and is not renewed yet";
    return pause(now);
  }
  commit();
}

void RemoveMachine::read() {
  waiting_ = Waiting::Read;
  awaited_ = next_ticket_++;
  actions_.push_back(ReadKeys{awaited_, {request_.key}});
}

void RemoveMachine::commit() {
  waiting_ = Waiting::Commit;
  awaited_ = next_ticket_++;
  Commit removal =
      absent_ ? owned_commit(lease_) : remove_object(lease_, request_.key, *request_.version);
  if (absent_) removal.conditions.push_back({request_.key, absent_->vacant});
  for (const std::string& key : request_.companions) removal.writes.push_back({key, std::nullopt});
  actions_.push_back(CommitKeys{awaited_, std::move(removal)});
}

void RemoveMachine::on(const CommitDone& event, Instant now) {
  if (waiting_ != Waiting::Commit || event.ticket != awaited_) return;
  const CommitResult& result = event.result;
  switch (result.outcome) {
    case Outcome::Ok:
      return finish({absent_ ? absent_->kind : Kind::Removed, {}});
    case Outcome::Unavailable:
      reason_ = fmt::format("the Location Store is away ({})", result.message);
      return pause(now);
    case Outcome::Unknown:
      is_unknown_ = true;
      return read();
    case Outcome::Malformed:
      return finish({Kind::Damaged, Error::internal_failure(text(result.message))});
    case Outcome::Conflict:
      break;
  }
  must_read_ = true;
  const ConflictCause cause = cause_of(result.failed_key, lease_);
  if (cause == ConflictCause::Record) return read();
  reason_ = describe(cause);
  delayed(reason_);
  pause(now);
}

void RemoveMachine::on(const ReadDone& event, Instant now) {
  if (waiting_ != Waiting::Read || event.ticket != awaited_) return;
  if (!event.result) {
    reason_ = fmt::format("the Location Store is away ({})", event.result.error().message());
    return pause(now);
  }
  // The lease machine learns of the new epoch by the same answer; until it has asserted the lease
  // there nothing can be written.
  if (event.result->epoch != lease_.epoch) {
    reason_ = describe(ConflictCause::Epoch);
    return pause(now);
  }
  const auto& stored = event.result->values.at(0);
  if (!stored) {
    const bool is_own_doing = is_unknown_ || event.result->epoch != known_in_;
    return on_absent({is_own_doing ? Kind::Removed : Kind::Gone, {}}, event.result->epoch, now);
  }
  judge(*stored, now);
}

// What went with the record may still be there: a store can have brought it back, and not the
// record.
void RemoveMachine::on_absent(Absent absent, const StoreEpoch& epoch, Instant now) {
  if (request_.companions.empty()) return finish({absent.kind, {}});
  if (absent_) absent.kind = absent_->kind;
  absent_ = absent;
  known_in_ = epoch;
  must_read_ = is_unknown_ = false;
  go_on(now);
}

void RemoveMachine::judge(const StoredValue& stored, Instant now) {
  auto record = decode_authority(request_.key, stored.value);
  if (!record) return finish({Kind::Damaged, record.error()});
  if (record->state == AuthorityState::Vacant) {
    return on_absent({Kind::Gone, stored.version}, stored.version.epoch, now);
  }
  // Another life has begun, and what goes with it is its own.
  if (absent_) return finish({absent_->kind, {}});
  if (record->object_generation != request_.generation) {
    return finish({Kind::Other, Error::invalid_operation(text(fmt::format(
                                    "it names generation {}, but generation {} lives there",
                                    request_.generation.value, record->object_generation.value)))});
  }
  if (record->owner != *lease_.stamp) {
    return finish({Kind::Other, Error::invalid_operation(text(
                                    fmt::format("node {} owns it now", record->owner.rid.text)))});
  }
  request_.version = stored.version;
  known_in_ = stored.version.epoch;
  must_read_ = false;
  is_unknown_ = false;
  go_on(now);
}

void RemoveMachine::pause(Instant now) {
  waiting_ = Waiting::Pause;
  retry_at_ = now + store_pause(random_, ++failures_);
}

void RemoveMachine::delayed(std::string_view reason) {
  actions_.push_back(
      remove::Delayed{Error::unavailable(text(fmt::format("{}; it goes on", reason)))});
}

std::string RemoveMachine::text(std::string_view rest) const {
  return fmt::format("{}: {}", request_.what, rest);
}

void RemoveMachine::finish(RemoveOutcome outcome) {
  is_finished_ = true;
  waiting_ = Waiting::Nothing;
  actions_.push_back(CancelTimer{});
  actions_.push_back(remove::Finished{std::move(outcome)});
}

}  // namespace spotmesh::location
