#include "location/find.hpp"

#include <utility>

#include <fmt/format.h>

namespace spotmesh::location {

FindMachine::FindMachine(ObjectKey object, Instant deadline,
                         const AuthorityEnvironment& environment)
    : object_(std::move(object)), deadline_(deadline), reader_(object_.key, environment) {}

find::Actions FindMachine::on_event(const find::Event& event, Instant now) {
  actions_.clear();
  if (!is_finished_) std::visit([&](const auto& each) { on(each, now); }, event);
  return std::move(actions_);
}

void FindMachine::on(const find::Start&, Instant) {
  actions_.push_back(ArmTimer{deadline_});
  read();
}

void FindMachine::read() {
  awaited_ = next_ticket_++;
  actions_.push_back(ReadKeys{awaited_, reader_.keys()});
}

void FindMachine::on(const ReadDone& event, Instant now) {
  if (event.ticket != awaited_) return;
  if (!event.result) {
    return finish(fail(Error::unavailable(
        fmt::format("{} cannot be looked up: {}", object_.name, event.result.error().message()))));
  }
  const auto complete = reader_.take(*event.result);
  if (!complete) return finish(fail(complete.error()));
  if (!*complete) return read();
  const AuthorityReading& reading = reader_.reading();
  if (!reading.owner && reader_.is_uncertain(now)) {
    return finish(fail(Error::unavailable(fmt::format(
        "{} cannot be looked up: the Location Store has a new epoch, and owners are still telling "
        "it what they hold",
        object_.name))));
  }
  FindOutcome outcome;
  outcome.standing = reader_.standing(now);
  outcome.is_own_leftover = reader_.is_own_leftover();
  if (outcome.standing != Standing::Missing) {
    outcome.authority = reading.object;
    outcome.spot = reading.spot;
    if (outcome.standing != Standing::OwnerLost) outcome.owner = reading.owner;
  } else if (reading.object) {
    outcome.vacant = vacant_record(reading.object->record, reading.object->version);
  }
  if (reading.owner_lease && outcome.standing != Standing::OwnerLost) {
    actions_.push_back(find::WatchOwner{*reading.owner});
  }
  if (auto over = reader_.owner_over(now)) actions_.push_back(find::OwnerOver{*std::move(over)});
  finish(std::move(outcome));
}

void FindMachine::on(const TimerFired&, Instant now) {
  if (now < deadline_) return;
  finish(fail(Error::deadline_exceeded(fmt::format(
      "{} was not looked up in time: the Location Store has not answered", object_.name))));
}

void FindMachine::finish(Result<FindOutcome> outcome) {
  is_finished_ = true;
  actions_.push_back(CancelTimer{});
  actions_.push_back(find::Finished{std::move(outcome)});
}

}  // namespace spotmesh::location
