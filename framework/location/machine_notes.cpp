// What the machines of this module note of themselves. Left out is what no later event depends on:
// texts of errors, counters that only make values differ, readings that are decided upon at once.
#include "location/beat_watch.hpp"
#include "location/create.hpp"
#include "location/lease.hpp"
#include "location/reassert.hpp"
#include "location/remove.hpp"
#include "location/state_notes.hpp"

namespace spotmesh::location {
namespace {

void note(StateNotes& notes, std::string_view key, const std::optional<StoreVersion>& version) {
  notes.number(version ? 1 : 0);
  if (version) notes.version(key, *version);
}

void note(StateNotes& notes, const OwnerRun& run) {
  notes.text(run.owner.text());
  notes.number(run.generation.value);
}

void note(StateNotes& notes, const AuthorityRecord& record) {
  notes.number(static_cast<std::uint64_t>(record.state));
  notes.generation(record.object_generation);
  notes.number(record.takeover_count);
  notes.epoch(record.reserved_in);
  notes.number(record.terminals.size());
}

}  // namespace

void LeaseMachine::note(StateNotes& notes) const {
  notes.number(static_cast<std::uint64_t>(state_));
  if (state_ == State::Ended || state_ == State::Idle) return;
  notes.number(view_.is_held ? 1 : 0);
  notes.number(view_.stamp ? view_.stamp->lease_generation.value : 0);
  notes.version(keys::lease(owner_), view_.lease_version);
  notes.epoch(view_.epoch);
  notes.deadline(view_.admission_deadline);
  notes.deadline(view_.former_admission_deadline);
  notes.deadline(view_.quiet_until);
  notes.number(static_cast<std::uint64_t>(waiting_));
  notes.ticket(awaited_);
  if (waiting_ == Waiting::Backoff) notes.deadline(retry_at_);
  if (state_ == State::Acquiring || state_ == State::Reasserting) {
    notes.moment(sent_);
    notes.number(proposed_.value);
    notes.number(proposed_is_settled_ ? 1 : 0);
  }
  notes.failures(failures_);
  if (state_ == State::Releasing) notes.deadline(release_until_);
  for (const Renewal& renewal : renewals_) {
    notes.ticket(renewal.ticket);
    notes.moment(renewal.sent);
  }
  notes.deadline(next_renewal_);
  notes.failures(renewal_failures_);
  notes.number((is_quiet_ ? 1U : 0U) + (must_settle_epoch_ ? 2U : 0U) + (settling_ != 0 ? 4U : 0U));
  notes.ticket(settling_);
}

void OwnerObservation::note(StateNotes& notes, const OwnerRun& run) const {
  notes.number((was_read_ ? 1U : 0U) + (is_over_ ? 2U : 0U) + (has_moved_ ? 4U : 0U));
  if (!was_read_) return;
  location::note(notes, keys::lease(run.owner), last_.lease_version);
  location::note(notes, keys::beat(run.owner), last_.beat_version);
  notes.number(last_.lease ? last_.lease->stamp.lease_generation.value : 0);
  notes.number(last_.lease ? static_cast<std::uint64_t>(last_.lease->state) : 0);
  notes.moment(still_since_);
  notes.moment(last_sent_);
}

// When it was asked for which run decides only which of very many are dropped, and when.
void BeatWatchMachine::note(StateNotes& notes) const {
  for (const auto& [run, owner] : owners_) {
    location::note(notes, run);
    owner.observation.note(notes, run);
    notes.number((owner.is_said_silent ? 1U : 0U) + (owner.fence != 0 ? 2U : 0U));
    notes.ticket(owner.fence);
  }
  notes.number(fenced_.size());
  for (const OwnerRun& run : fenced_) location::note(notes, run);
  for (const Round& round : rounds_) {
    notes.ticket(round.ticket);
    notes.moment(round.sent);
    for (const OwnerRun& run : round.runs) location::note(notes, run);
  }
  notes.epoch(epoch_);
  if (!owners_.empty()) notes.deadline(next_round_);
}

void AuthorityReader::note(StateNotes& notes) const {
  for (const std::string& key : keys_) notes.text(key);
}

void CreateMachine::note(StateNotes& notes) const {
  notes.number(static_cast<std::uint64_t>(state_));
  notes.number(static_cast<std::uint64_t>(waiting_));
  notes.ticket(awaited_);
  if (state_ == State::Reading) reader_.note(notes);
  if (state_ == State::TakingSlot) {
    for (const Condition& condition : reader_.reading().conditions) {
      location::note(notes, condition.key, condition.version);
    }
  }
  notes.number(rounds_);
  notes.failures(failures_);
  if (waiting_ == Waiting::Pause) notes.deadline(retry_at_);
  if (!is_past_deadline_) notes.deadline(request_.deadline);
  notes.number((holds_slot_ ? 1U : 0U) + (is_answered_ ? 2U : 0U) + (is_past_deadline_ ? 4U : 0U) +
               (is_unknown_ ? 8U : 0U) + (written_ ? 16U : 0U) + (spot_ ? 32U : 0U));
  if (leftover_) notes.generation(*leftover_);
  notes.number(record_ ? 1 : 0);
  if (record_) location::note(notes, *record_);
  const bool is_reserved =
      state_ == State::Running || state_ == State::Publishing || state_ == State::GivingBack;
  if (is_reserved) notes.version(request_.object.key, reserved_version_);
  notes.number(outcome_ ? 1 + static_cast<std::uint64_t>(outcome_->kind) : 0);
}

void ReassertMachine::note(StateNotes& notes) const {
  const auto note_all = [&](const auto& objects) {
    notes.number(objects.size());
    for (const HeldObject& object : objects) {
      notes.text(object.key);
      location::note(notes, object.record);
    }
  };
  note_all(waiting_objects_);
  note_all(batch_);
  if (waiting_ == Waiting::Read) {
    for (const std::string& key : read_keys_) notes.text(key);
  }
  for (const Written& each : in_commit_) {
    notes.text(each.key);
    notes.generation(each.generation);
  }
  notes.number(static_cast<std::uint64_t>(waiting_));
  notes.ticket(awaited_);
  if (waiting_ == Waiting::Pause) notes.deadline(retry_at_);
  notes.failures(failures_);
  notes.epoch(epoch_);
  notes.deadline(closes_at_);
  notes.number((is_closed_ ? 1U : 0U) + (is_decided_ ? 2U : 0U) + (is_finished_ ? 4U : 0U));
}

void RemoveMachine::note(StateNotes& notes) const {
  notes.generation(request_.generation);
  location::note(notes, request_.key, request_.version);
  if (!is_told_) notes.deadline(request_.deadline);
  notes.number(static_cast<std::uint64_t>(waiting_));
  notes.ticket(awaited_);
  if (waiting_ == Waiting::Pause) notes.deadline(retry_at_);
  notes.failures(failures_);
  notes.epoch(known_in_);
  notes.number((is_finished_ ? 1U : 0U) + (must_read_ ? 2U : 0U) + (is_unknown_ ? 4U : 0U) +
               (is_told_ ? 8U : 0U) + (absent_ ? 16U : 0U));
}

}  // namespace spotmesh::location
