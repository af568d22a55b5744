#include "location/reassert.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "location/conflict.hpp"
#include "location/keys.hpp"
#include "location/store_pause.hpp"

namespace spotmesh::location {

using Outcome = CommitResult::Outcome;

ReassertMachine::ReassertMachine(std::vector<HeldObject> objects, Instant closes_at,
                                 const AuthorityEnvironment& environment)
    : waiting_objects_(std::make_move_iterator(objects.begin()),
                       std::make_move_iterator(objects.end())),
      environment_(environment),
      epoch_(environment.lease.epoch),
      closes_at_(closes_at) {}

reassert::Actions ReassertMachine::on_event(const reassert::Event& event, Instant now) {
  actions_.clear();
  if (!is_finished_) {
    close_in_time(now);
    std::visit([&](const auto& each) { on(each, now); }, event);
  }
  if (!is_finished_) {
    Instant at = is_closed_ ? Instant::max() : closes_at_;
    if (waiting_ == Waiting::Pause) at = std::min(at, retry_at_);
    if (at != Instant::max()) actions_.push_back(ArmTimer{at});
  }
  return std::move(actions_);
}

void ReassertMachine::on(const reassert::Start&, Instant now) { next(now); }

void ReassertMachine::on(const reassert::Forget& event, Instant now) {
  const auto is_it = [&](const HeldObject& object) { return object.key == event.key; };
  std::erase_if(waiting_objects_, is_it);
  std::erase_if(batch_, is_it);
  // What is in a commit under way stays there, and is a leftover once that is answered.
  if (waiting_ == Waiting::Nothing || waiting_ == Waiting::Pause) next(now);
}

void ReassertMachine::on(const TimerFired&, Instant now) {
  const bool is_empty = batch_.empty() && waiting_objects_.empty();
  if (waiting_ == Waiting::Pause && (is_empty || now >= retry_at_)) next(now);
}

bool ReassertMachine::is_writing(std::string_view key) const {
  return std::ranges::any_of(in_commit_, [&](const Written& each) { return each.key == key; });
}

bool ReassertMachine::has_rivals() const {
  const auto is_rivalled = [](const HeldObject& object) { return !object.is_unrivalled; };
  return std::ranges::any_of(waiting_objects_, is_rivalled) ||
         std::ranges::any_of(batch_, is_rivalled);
}

void ReassertMachine::say_decided() {
  if (is_decided_ || has_rivals()) return;
  is_decided_ = true;
  actions_.push_back(reassert::Decided{});
}

// From then on the objects of others are out of reach, whatever the timer was late by; a commit of
// them that is under way may still be applied, and leaves them over.
void ReassertMachine::close_in_time(Instant now) {
  if (is_closed_ || now < closes_at_) return;
  if (runtime::fault_strikes(environment_.faults, "reassert.after-admission")) return;
  is_closed_ = true;
  const auto drop = [&](auto& objects) {
    for (const HeldObject& object : objects) {
      if (object.is_unrivalled) continue;
      actions_.push_back(reassert::SteppedDown{
          object.key,
          Error::unavailable(fmt::format("'{}': the Location Store has a new epoch, and this node "
                                         "could not say in time that it still owns it",
                                         keys::printable(object.key)))});
    }
    std::erase_if(objects, [](const HeldObject& object) { return !object.is_unrivalled; });
  };
  drop(batch_);
  drop(waiting_objects_);
  say_decided();
}

void ReassertMachine::next(Instant now) {
  say_decided();
  if (waiting_ == Waiting::Read || waiting_ == Waiting::Commit) return;
  waiting_ = Waiting::Nothing;
  if (!environment_.lease.is_held || is_superseded()) return finish();
  // A new batch, or what is left of the last one.
  while (batch_.size() < reassert::objects_per_batch && !waiting_objects_.empty()) {
    batch_.push_back(std::move(waiting_objects_.front()));
    waiting_objects_.pop_front();
  }
  if (batch_.empty()) return finish();
  if (is_closed_ && !environment_.lease.admits(now)) return pause(now);
  waiting_ = Waiting::Read;
  awaited_ = next_ticket_++;
  read_keys_.clear();
  for (const HeldObject& object : batch_) read_keys_.push_back(object.key);
  actions_.push_back(ReadKeys{awaited_, read_keys_});
}

void ReassertMachine::on(const ReadDone& event, Instant now) {
  if (waiting_ != Waiting::Read || event.ticket != awaited_) return;
  waiting_ = Waiting::Nothing;
  if (!event.result || event.result->epoch != epoch_) return pause(now);
  decide(*event.result, now);
}

void ReassertMachine::decide(const ReadResult& result, Instant now) {
  Commit commit = owned_commit(environment_.lease);
  std::vector<HeldObject> writing;
  // The batch may have become smaller since it was asked for.
  for (const HeldObject& object : std::exchange(batch_, {})) {
    const auto asked = std::ranges::find(read_keys_, object.key);
    const auto& stored = result.values.at(static_cast<std::size_t>(asked - read_keys_.begin()));
    if (!must_write(object, stored)) continue;
    commit.conditions.push_back(
        {object.key, stored ? std::optional(stored->version) : std::nullopt});
    commit.writes.push_back({object.key, encode(object.record)});
    writing.push_back(object);
  }
  batch_ = std::move(writing);
  if (batch_.empty()) return next(now);
  in_commit_.clear();
  for (const HeldObject& object : batch_) {
    in_commit_.push_back({object.key, object.record.object_generation});
  }
  waiting_ = Waiting::Commit;
  awaited_ = next_ticket_++;
  actions_.push_back(CommitKeys{awaited_, std::move(commit)});
}

bool ReassertMachine::must_write(const HeldObject& object,
                                 const std::optional<StoredValue>& stored) {
  std::optional<AuthorityRecord> record;
  if (stored) {
    auto decoded = decode_authority(object.key, stored->value);
    if (!decoded) {
      actions_.push_back(reassert::SteppedDown{object.key, decoded.error()});
      return false;
    }
    record = std::move(*decoded);
  }
  switch (decide_reassertion(object.record, record)) {
    case Reassertion::Keep:
      actions_.push_back(reassert::Asserted{object.key, stored->version});
      return false;
    case Reassertion::Write:
      return true;
    case Reassertion::StepDown:
      actions_.push_back(reassert::SteppedDown{
          object.key, Error::unavailable(fmt::format(
                          "'{}': the Location Store has a new epoch, in which node {} owns it",
                          keys::printable(object.key), record->owner.rid.text))});
      return false;
  }
  return false;
}

void ReassertMachine::on(const CommitDone& event, Instant now) {
  if (waiting_ != Waiting::Commit || event.ticket != awaited_) return;
  waiting_ = Waiting::Nothing;
  const std::vector<Written> written = std::exchange(in_commit_, {});
  const CommitResult& result = event.result;
  const bool is_applied = result.outcome == Outcome::Ok;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto& [key, generation] = written[i];
    const auto object = std::ranges::find(batch_, key, &HeldObject::key);
    if (object == batch_.end()) {
      actions_.push_back(reassert::Leftover{key, generation});
    } else if (is_applied) {
      batch_.erase(object);
      actions_.push_back(reassert::Asserted{key, result.versions[i]});
    }
  }
  switch (result.outcome) {
    case Outcome::Ok:
      failures_ = 0;
      return next(now);
    case Outcome::Conflict:
      // Whoever it was, the next reading shows it.
      if (cause_of(result.failed_key, environment_.lease) != ConflictCause::Record) {
        return pause(now);
      }
      return next(now);
    case Outcome::Unknown:
      return next(now);
    case Outcome::Unavailable:
      return pause(now);
    case Outcome::Malformed:
      for (const HeldObject& object : std::exchange(batch_, {})) {
        actions_.push_back(
            reassert::SteppedDown{object.key, Error::internal_failure(result.message)});
      }
      return next(now);
  }
}

void ReassertMachine::pause(Instant now) {
  waiting_ = Waiting::Pause;
  retry_at_ = now + store_pause(environment_.random, ++failures_);
}

void ReassertMachine::finish() {
  is_finished_ = true;
  actions_.push_back(CancelTimer{});
  actions_.push_back(reassert::Finished{});
}

}  // namespace spotmesh::location
