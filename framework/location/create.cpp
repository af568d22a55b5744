#include "location/create.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "location/conflict.hpp"
#include "location/store_pause.hpp"

namespace spotmesh::location {

using Outcome = CommitResult::Outcome;

namespace {

// A record that changes between every two rounds is read again after a pause.
constexpr unsigned max_rounds = 4;

}  // namespace

CreateMachine::CreateMachine(CreateRequest request, const AuthorityEnvironment& environment)
    : request_(std::move(request)),
      environment_(environment),
      reader_(request_.object.key, environment),
      reason_(Error::deadline_exceeded(text("the deadline passed"))) {}

create::Actions CreateMachine::on_event(const create::Event& event, Instant now) {
  actions_.clear();
  if (state_ != State::Done) {
    std::visit([&](const auto& each) { on(each, now); }, event);
    if (state_ != State::Done) arm();
  }
  return std::move(actions_);
}

// Events.

void CreateMachine::on(const create::Start&, Instant) {
  if (state_ == State::Idle) read_anew();
}

void CreateMachine::on(const ReadDone& event, Instant now) {
  if (event.ticket != awaited_) return;
  if (waiting_ == Waiting::Settle) {
    if (!event.result) return pause(now);
    return on_settled(*event.result, now);
  }
  if (waiting_ != Waiting::Read) return;
  waiting_ = Waiting::Nothing;
  if (!event.result) {
    return wait(Error::unavailable(text(fmt::format("the Location Store is away ({})",
                                                    event.result.error().message()))),
                now);
  }
  const auto complete = reader_.take(*event.result);
  if (!complete) return finish(failed(complete.error()));
  if (*complete) return decide(now);
  if (++rounds_ < max_rounds) return read();
  wait(Error::unavailable(text("its record keeps changing")), now);
}

void CreateMachine::on(const CommitDone& event, Instant now) {
  if (waiting_ != Waiting::Commit || event.ticket != awaited_) return;
  waiting_ = Waiting::Nothing;
  const CommitResult& result = event.result;
  if (result.outcome == Outcome::Unknown &&
      !runtime::fault_strikes(environment_.faults, "create.forget-unknown")) {
    return settle();
  }
  if (result.outcome == Outcome::Malformed) return on_malformed(result.message, now);
  const bool is_away = result.outcome == Outcome::Unavailable;
  const auto cause = is_away || result.outcome == Outcome::Ok
                         ? ConflictCause::Record
                         : cause_of(result.failed_key, environment_.lease);
  switch (state_) {
    case State::Reserving: {
      if (result.outcome == Outcome::Ok) return on_reserved(result.versions.at(0), now);
      std::optional<Error> reason;
      if (is_away) {
        reason = Error::unavailable(
            text(fmt::format("the Location Store is away ({})", result.message)));
      } else if (cause != ConflictCause::Record) {
        reason = Error::unavailable(text(describe(cause)));
      }
      return on_reservation_lost(std::move(reason), now);
    }
    case State::Publishing:
      if (result.outcome == Outcome::Ok) return on_published(result.versions.at(0));
      if (!is_away) {
        return fail_attempt(
            failed(Error::unavailable(text(cause == ConflictCause::Record
                                               ? "its reservation was lost before it could be "
                                                 "made Ready"
                                               : describe(cause)))),
            now);
      }
      if (!is_past_deadline_) return pause(now);
      return fail_attempt(failed(Error::unavailable(text("the Location Store was away when it "
                                                         "was to be made Ready"))),
                          now);
    case State::GivingBack:
      if (is_away) return pause(now);
      if (result.outcome == Outcome::Ok) note_vacant(result.versions.at(0));
      return cause == ConflictCause::Record ? finish(*outcome_) : leave_over(*outcome_);
    default:
      return;
  }
}

void CreateMachine::on(const TimerFired&, Instant now) {
  if (state_ == State::Elsewhere) return;
  if (now >= request_.deadline && !is_past_deadline_) {
    is_past_deadline_ = true;
    on_deadline(now);
  }
  if (waiting_ == Waiting::Pause && now >= retry_at_) {
    waiting_ = Waiting::Nothing;
    resume(now);
  }
}

void CreateMachine::on(const create::PlacedHere&, Instant now) {
  if (state_ != State::Placing && state_ != State::Elsewhere) return;
  is_placed_here_ = true;
  compete(now);
}

void CreateMachine::on(const create::PlacedElsewhere&, Instant) {
  if (state_ == State::Placing) state_ = State::Elsewhere;
}

void CreateMachine::on(const create::NoPlace& event, Instant now) {
  if (state_ != State::Placing) return;
  if (event.may_change) return wait(Error(event.error.kind(), text(event.error.message())), now);
  finish(failed(Error(event.error.kind(), text(event.error.message()))));
}

void CreateMachine::on(const create::EndedElsewhere&, Instant) {
  if (state_ == State::Elsewhere) end();
}

void CreateMachine::on(const create::SlotTaken&, Instant now) {
  if (state_ != State::TakingSlot) return;
  holds_slot_ = true;
  // Answered already, by the deadline or a stop.
  if (outcome_) return finish(*outcome_);
  reserve(now);
}

void CreateMachine::on(const create::SlotRefused& event, Instant) {
  if (state_ == State::TakingSlot) finish(outcome_ ? *outcome_ : failed(event.error));
}

void CreateMachine::on(const create::Accepted& event, Instant now) {
  if (state_ != State::Running) return;
  record_->state = AuthorityState::Ready;
  record_->reserved_in = {};  // says something of a creation only
  record_->membership = event.membership;
  add_terminal(*record_,
               {.key = request_.operation,
                .kind = OperationKind::Create,
                .outcome = TerminalOutcome::Accepted,
                .object_generation = record_->object_generation,
                .reply = event.reply,
                .error = {},
                .keep_until = request_.keep_terminal_until},
               request_.wall_now);
  spot_ = event.spot;
  publish(now);
}

void CreateMachine::on(const create::Rejected& event, Instant now) {
  if (state_ != State::Running) return;
  CreateOutcome outcome;
  outcome.kind = CreateOutcome::Kind::Rejected;
  outcome.reply = event.reply;
  fail_attempt(std::move(outcome), now);
}

void CreateMachine::on(const create::Failed& event, Instant now) {
  if (state_ == State::Running) fail_attempt(failed(event.error), now);
}

void CreateMachine::on(const create::Stop& event, Instant now) {
  const CreateOutcome stopped = failed(Error(event.error.kind(), text(event.error.message())));
  switch (state_) {
    case State::Idle:
    case State::Reading:
    case State::Waiting:
    case State::Placing:
      return finish(stopped);
    case State::TakingSlot:
    case State::Reserving:
      // Whatever comes of the slot or the reservation is given back.
      is_past_deadline_ = true;
      outcome_ = stopped;
      return answer(stopped);
    case State::Running:
      answer(stopped);
      return fail_attempt(stopped, now);
    default:
      return;
  }
}

void CreateMachine::on(const create::Withdrawn&, Instant now) {
  if (std::exchange(is_past_deadline_, true)) return;
  on_deadline(now);
}

void CreateMachine::on_deadline(Instant now) {
  switch (state_) {
    case State::Idle:
    case State::Reading:
    case State::Waiting:
    case State::Placing:
      return finish(failed(reason_));
    case State::TakingSlot:
    case State::Reserving: {
      const Error error =
          Error::deadline_exceeded(text("the deadline passed while it was reserved"));
      outcome_ = failed(error);
      return answer(*outcome_);
    }
    case State::Running: {
      const auto late = failed(Error::deadline_exceeded(
          text("the deadline passed while the factory and the acceptance callback ran")));
      answer(late);
      return fail_attempt(late, now);
    }
    case State::Publishing:
      // An open commit is settled first. One that was not carried out is not tried again.
      if (waiting_ == Waiting::Pause && !is_unknown_) {
        fail_attempt(failed(Error::unavailable(text("it could not be made Ready in time: the "
                                                    "Location Store or this node's lease was "
                                                    "away"))),
                     now);
      }
      return;
    case State::GivingBack:
      return answer(*outcome_);
    case State::Elsewhere:
    case State::Done:
      return;
  }
}

// Reading and deciding.

void CreateMachine::read_anew() {
  state_ = State::Reading;
  is_placed_here_ = false;
  record_.reset();
  reader_.restart();
  rounds_ = 0;
  read();
}

void CreateMachine::read() {
  waiting_ = Waiting::Read;
  awaited_ = next_ticket_++;
  actions_.push_back(ReadKeys{awaited_, reader_.keys()});
}

void CreateMachine::decide(Instant now) {
  if (auto over = reader_.owner_over(now)) actions_.push_back(create::OwnerOver{*std::move(over)});
  const auto& object = reader_.reading().object;
  if (object) {
    const TerminalRecord* terminal = find_terminal(object->record, request_.operation);
    if (terminal != nullptr &&
        terminal->keep_until.unix_milliseconds >= request_.wall_now.unix_milliseconds) {
      return replay(*terminal);
    }
  }
  Standing standing = reader_.standing(now);
  if (standing == Standing::Silent &&
      runtime::fault_strikes(environment_.faults, "create.skip-fence-check")) {
    standing = Standing::OwnerLost;
  }
  if (standing == Standing::Missing || standing == Standing::OwnerLost) return compete(now);
  decide_existing(standing, now);
}

void CreateMachine::decide_existing(Standing standing, Instant now) {
  const AuthorityReading& reading = reader_.reading();
  const AuthorityRecord& record = reading.object->record;
  if (reading.owner_lease) actions_.push_back(create::WatchOwner{*reading.owner});
  if (record.stable_type != request_.stable_type || record.kind != request_.kind) {
    return finish(failed(Error::type_mismatch(
        text(fmt::format("it is asked for as type \"{}\", and exists as type \"{}\"",
                         request_.stable_type.text(), record.stable_type.text())))));
  }
  switch (standing) {
    case Standing::Creating:
      return wait(Error::deadline_exceeded(text("another operation kept creating it at node " +
                                                reading.owner->rid.text + " until the deadline")),
                  now);
    case Standing::Unproven:
      return wait(Error::unavailable(text("its owner, node " + reading.owner->rid.text +
                                          ", has not been seen alive by this node yet")),
                  now);
    case Standing::Silent:
      if (!reading.owner_lease) {
        return wait(Error::unavailable(text("it lives here, and this node's lease has run out and "
                                            "is not renewed yet")),
                    now);
      }
      return finish(
          failed(Error::unavailable(text("the lease of its owner, node " + reading.owner->rid.text +
                                         ", has run out; it can be taken over soon"))));
    default:
      break;
  }
  if (!request_.is_get_or_create) {
    return finish(
        failed(Error::already_exists(text("it lives at node " + reading.owner->rid.text))));
  }
  CreateOutcome existing;
  existing.kind = CreateOutcome::Kind::Existing;
  existing.authority = reading.object;
  existing.owner = reading.owner;
  existing.object_generation = record.object_generation;
  finish(std::move(existing));
}

void CreateMachine::replay(const TerminalRecord& terminal) {
  CreateOutcome outcome;
  outcome.is_replay = true;
  outcome.reply = terminal.reply;
  switch (terminal.outcome) {
    case TerminalOutcome::Accepted: {
      outcome.kind = CreateOutcome::Kind::Created;
      outcome.object_generation = terminal.object_generation;
      const AuthorityReading& reading = reader_.reading();
      const AuthorityRecord& record = reading.object->record;
      if (record.state == AuthorityState::Ready &&
          record.object_generation == terminal.object_generation) {
        outcome.authority = reading.object;
        outcome.owner = reading.owner;
      }
      break;
    }
    case TerminalOutcome::Rejected:
      outcome.kind = CreateOutcome::Kind::Rejected;
      break;
    case TerminalOutcome::Failed:
      outcome.kind = CreateOutcome::Kind::Failed;
      outcome.error = terminal.error;
      break;
  }
  finish(std::move(outcome));
}

void CreateMachine::compete(Instant now) {
  const LeaseView& lease = environment_.lease;
  if (!lease.is_held) {
    return finish(failed(Error::unavailable(text("this node has lost its lease"))));
  }
  if (reader_.reading().epoch != lease.epoch || is_quiet(now)) {
    return wait(Error::unavailable(text("the Location Store has a new epoch; nothing is created "
                                        "until its owners have told what they hold")),
                now);
  }
  if (!lease.admits(now)) {
    return wait(Error::unavailable(text("this node's lease has run out and is not renewed yet")),
                now);
  }
  if (request_.chooses_place && !is_placed_here_) {
    state_ = State::Placing;
    actions_.push_back(create::ChoosePlace{});
    return;
  }
  const auto generation = environment_.mint.mint();
  if (!generation) return finish(failed(generation.error()));
  record_ = reservation(*generation);
  state_ = State::TakingSlot;
  actions_.push_back(create::TakeSlot{*generation});
}

bool CreateMachine::is_quiet(Instant now) const {
  return now < environment_.lease.quiet_until &&
         !runtime::fault_strikes(environment_.faults, "create.skip-quiet-time");
}

void CreateMachine::wait(Error reason, Instant now) {
  state_ = State::Waiting;
  reason_ = std::move(reason);
  if (is_past_deadline_) return finish(failed(reason_));
  pause(now);
}

void CreateMachine::pause(Instant now) {
  waiting_ = Waiting::Pause;
  retry_at_ = now + store_pause(environment_.random, ++failures_);
}

void CreateMachine::resume(Instant now) {
  if (state_ == State::Waiting) return read_anew();
  if (!environment_.lease.is_held) return on_lease_lost();
  if (is_unknown_) return settle();
  if (state_ == State::Publishing) return publish(now);
  if (state_ == State::GivingBack) return give_back(now);
}

// Answers and ends.

std::string CreateMachine::text(std::string_view rest) const {
  return fmt::format("{} of {} (type \"{}\"): {}",
                     request_.is_get_or_create ? "get_or_create" : "create", request_.object.name,
                     request_.stable_type.text(), rest);
}

CreateOutcome CreateMachine::failed(Error error) const {
  CreateOutcome outcome;
  outcome.kind = CreateOutcome::Kind::Failed;
  outcome.error = std::move(error);
  return outcome;
}

void CreateMachine::answer(CreateOutcome outcome) {
  if (is_answered_) return;
  is_answered_ = true;
  actions_.push_back(create::Answer{std::move(outcome)});
}

void CreateMachine::finish(CreateOutcome outcome) {
  answer(std::move(outcome));
  end();
}

void CreateMachine::leave_over(CreateOutcome outcome) {
  leftover_ = record_->object_generation;
  finish(std::move(outcome));
}

void CreateMachine::end() {
  if (std::exchange(holds_slot_, false)) actions_.push_back(create::FreeSlot{});
  state_ = State::Done;
  waiting_ = Waiting::Nothing;
  actions_.push_back(CancelTimer{});
  actions_.push_back(create::Done{leftover_, vacant_});
}

void CreateMachine::arm() {
  if (state_ == State::Elsewhere) return actions_.push_back(CancelTimer{});
  Instant next = Instant::max();
  if (!is_past_deadline_) next = request_.deadline;
  if (waiting_ == Waiting::Pause) next = std::min(next, retry_at_);
  if (next != Instant::max()) actions_.push_back(ArmTimer{next});
}

}  // namespace spotmesh::location
