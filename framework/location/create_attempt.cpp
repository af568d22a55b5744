// One attempt of a CreateMachine: reserve, publish, give back, and settling what is unknown.
#include <utility>

#include "location/create.hpp"

namespace spotmesh::location {
namespace {

bool is_terminal(const CreateOutcome& outcome) {
  if (outcome.kind == CreateOutcome::Kind::Rejected) return true;
  return outcome.error && location::is_terminal(*outcome.error);
}

}  // namespace

// What Creating looks like on top of what was read: earlier terminals stay, and a life that was
// lost with its owner is counted.
AuthorityRecord CreateMachine::reservation(ObjectGeneration generation) const {
  AuthorityRecord record{.state = AuthorityState::Creating,
                         .kind = request_.kind,
                         .stable_type = request_.stable_type,
                         .object_generation = generation,
                         .owner_generation = AuthorityOwnerGeneration{1},
                         .takeover_count = 0,
                         .owner = *environment_.lease.stamp,
                         .mesh = request_.mesh,
                         .reservation = request_.reservation,
                         .reserved_in = environment_.lease.epoch,
                         .membership = {},
                         .terminals = {}};
  if (const auto& object = reader_.reading().object) {
    const AuthorityRecord& before = object->record;
    record.takeover_count =
        before.takeover_count + (before.state == AuthorityState::Vacant ? 0 : 1);
    record.terminals = before.terminals;
  }
  return record;
}

void CreateMachine::reserve(Instant) {
  state_ = State::Reserving;
  Commit commit = owned_commit(environment_.lease);
  commit.conditions.insert(commit.conditions.end(), reader_.reading().conditions.begin(),
                           reader_.reading().conditions.end());
  commit.writes = {{request_.object.key, encode(*record_)}};
  submit(std::move(commit));
}

void CreateMachine::submit(Commit commit) {
  if (runtime::fault_strikes(environment_.faults, "create.skip-lease-condition")) {
    commit.epoch.reset();
    commit.conditions.erase(commit.conditions.begin());
  }
  written_ = commit.writes.front().value;
  is_unknown_ = false;
  waiting_ = Waiting::Commit;
  awaited_ = next_ticket_++;
  actions_.push_back(CommitKeys{awaited_, std::move(commit)});
}

// Once the store has answered this read the commit can no longer come to be applied.
void CreateMachine::settle() {
  is_unknown_ = true;
  waiting_ = Waiting::Settle;
  awaited_ = next_ticket_++;
  actions_.push_back(ReadKeys{awaited_, {request_.object.key}});
}

void CreateMachine::on_settled(const ReadResult& result, Instant now) {
  waiting_ = Waiting::Nothing;
  is_unknown_ = false;
  const auto& stored = result.values.at(0);
  const bool is_applied = written_ ? stored && stored->value == *written_ : !stored;
  const bool is_untouched = stored && stored->version == reserved_version_;
  if (state_ == State::Reserving) {
    return is_applied ? on_reserved(stored->version, now) : on_reservation_lost(std::nullopt, now);
  }
  if (state_ == State::GivingBack) {
    // What a store that has failed over shows may be the reservation all the same.
    if (stored && result.epoch != reserved_version_.epoch) return leave_over(*outcome_);
    if (is_applied && stored) note_vacant(stored->version);
    return is_untouched ? give_back(now) : finish(*outcome_);
  }
  if (is_applied) return on_published(stored->version);
  if (is_untouched && !is_past_deadline_) return publish(now);
  fail_attempt(failed(Error::unavailable(
                   text(is_untouched ? "the Location Store did not make it Ready in time"
                                     : "its reservation was lost to another owner"))),
               now);
}

void CreateMachine::on_reserved(const StoreVersion& version, Instant now) {
  reserved_version_ = version;
  failures_ = 0;
  if (outcome_) return fail_attempt(*outcome_, now);
  // Found by a reading after an unknown commit, it may be what another epoch has kept of it.
  const bool is_of_its_epoch = version.epoch == record_->reserved_in && !is_quiet(now);
  if (!environment_.lease.admits(now) || !is_of_its_epoch) {
    return fail_attempt(
        failed(Error::unavailable(text(environment_.lease.admits(now)
                                           ? "the Location Store has a new epoch"
                                           : "this node's lease ran out while it was reserved"))),
        now);
  }
  state_ = State::Running;
  actions_.push_back(create::RunFactory{*record_});
}

void CreateMachine::on_reservation_lost(std::optional<Error> reason, Instant now) {
  // Answered already, by the deadline or a stop.
  if (outcome_) return finish(*outcome_);
  holds_slot_ = false;
  actions_.push_back(create::FreeSlot{});
  if (reason) return wait(std::move(*reason), now);
  read_anew();
}

void CreateMachine::publish(Instant now) {
  const LeaseView& lease = environment_.lease;
  state_ = State::Publishing;
  if (!lease.is_held) return on_lease_lost();
  if (lease.epoch != reserved_version_.epoch || is_quiet(now)) {
    return fail_attempt(failed(Error::unavailable(text("the Location Store has a new epoch; its "
                                                       "reservation belongs to the old one"))),
                        now);
  }
  if (!lease.admits(now)) return pause(now);
  Commit commit = write_object(lease, request_.object.key, reserved_version_, *record_);
  if (spot_) commit.conditions.push_back(*spot_);
  submit(std::move(commit));
}

void CreateMachine::on_published(const StoreVersion& version) {
  CreateOutcome created;
  created.kind = CreateOutcome::Kind::Created;
  created.owner = record_->owner;
  created.object_generation = record_->object_generation;
  created.reply = find_terminal(*record_, request_.operation)->reply;
  created.authority = VersionedAuthority{*record_, version};
  // The slot is the object's now.
  holds_slot_ = false;
  finish(std::move(created));
}

void CreateMachine::fail_attempt(CreateOutcome outcome, Instant now) {
  if (state_ == State::Running || state_ == State::Publishing) {
    actions_.push_back(create::DiscardInstance{});
  }
  outcome_ = outcome;
  if (is_past_deadline_) answer(outcome);
  record_->state = AuthorityState::Vacant;
  record_->membership.reset();
  std::erase_if(record_->terminals, [this](const TerminalRecord& terminal) {
    return terminal.key == request_.operation;
  });
  if (is_terminal(outcome)) {
    const bool is_rejection = outcome.kind == CreateOutcome::Kind::Rejected;
    add_terminal(*record_,
                 {.key = request_.operation,
                  .kind = OperationKind::Create,
                  .outcome = is_rejection ? TerminalOutcome::Rejected : TerminalOutcome::Failed,
                  .object_generation = {},
                  .reply = std::move(outcome.reply),
                  .error = std::move(outcome.error),
                  .keep_until = request_.keep_terminal_until},
                 request_.wall_now);
  }
  failures_ = 0;
  give_back(now);
}

void CreateMachine::give_back(Instant now) {
  const LeaseView& lease = environment_.lease;
  state_ = State::GivingBack;
  if (!lease.is_held) return finish(*outcome_);
  // What is left of an attempt of another epoch is looked at anew once this one is quiet.
  if (lease.epoch != reserved_version_.epoch || is_quiet(now)) {
    return leave_over(*outcome_);
  }
  if (!lease.admits(now)) return pause(now);
  const std::string& key = request_.object.key;
  submit(record_->terminals.empty() ? remove_object(lease, key, reserved_version_)
                                    : write_object(lease, key, reserved_version_, *record_));
}

void CreateMachine::note_vacant(const StoreVersion& version) {
  if (written_) vacant_ = vacant_record(*record_, version);
}

// Nor would the store take it the next time.
void CreateMachine::on_malformed(std::string_view fault, Instant now) {
  const auto refused = failed(Error::internal_failure(text(fault)));
  if (state_ == State::Publishing) return fail_attempt(refused, now);
  if (state_ == State::GivingBack) return leave_over(*outcome_);
  finish(outcome_ ? *outcome_ : refused);
}

// Nothing this node writes counts any more, and nothing it has made lives.
void CreateMachine::on_lease_lost() {
  if (state_ == State::Publishing) actions_.push_back(create::DiscardInstance{});
  if (!outcome_) {
    outcome_ = failed(Error::unavailable(text("this node lost its lease while creating it")));
  }
  finish(*outcome_);
}

}  // namespace spotmesh::location
