#include "location/settle.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "location/conflict.hpp"
#include "location/store_pause.hpp"

namespace spotmesh::location {

using Outcome = CommitResult::Outcome;

CommitMachine::CommitMachine(std::string what, Commit commit, Instant deadline,
                             const LeaseView& lease, Random& random)
    : what_(std::move(what)),
      commit_(std::move(commit)),
      deadline_(deadline),
      lease_(lease),
      random_(random) {}

settle::Actions CommitMachine::on_event(const settle::Event& event, Instant now) {
  actions_.clear();
  if (!is_finished_) std::visit([&](const auto& each) { on(each, now); }, event);
  return std::move(actions_);
}

void CommitMachine::on(const settle::Start&, Instant now) { submit(now); }

void CommitMachine::on(const TimerFired&, Instant now) {
  if (waiting_ != Waiting::Backoff || now < retry_at_) return;
  if (is_unknown_) return reread();
  submit(now);
}

void CommitMachine::on(const CommitDone& event, Instant now) {
  if (waiting_ != Waiting::Commit || event.ticket != awaited_) return;
  const CommitResult& result = event.result;
  switch (result.outcome) {
    case Outcome::Ok:
      return finish({.kind = SettleOutcome::Kind::Applied,
                     .versions = result.versions,
                     .failed_key = {},
                     .error = {}});
    case Outcome::Conflict:
      if (const ConflictCause cause = cause_of(result.failed_key, lease_);
          cause != ConflictCause::Record) {
        return give_up(describe(cause));
      }
      return finish({.kind = SettleOutcome::Kind::Conflict,
                     .versions = {},
                     .failed_key = result.failed_key,
                     .error = {}});
    case Outcome::Unavailable:
      reason_ = fmt::format("the Location Store is away ({})", result.message);
      return retry_later(now);
    case Outcome::Unknown:
      is_unknown_ = true;
      return reread();
    case Outcome::Malformed:
      return give_up(Error::internal_failure(
          fmt::format("{} was not carried out: {}", what_, result.message)));
  }
}

void CommitMachine::submit(Instant now) {
  if (!lease_.is_held) return give_up("this node has lost its lease");
  if (now >= deadline_) return give_up(reason_);
  if (!lease_.admits(now)) {
    reason_ = "this node's lease has run out and is not renewed yet";
    return retry_later(now);
  }
  waiting_ = Waiting::Commit;
  awaited_ = next_ticket_++;
  actions_.push_back(CommitKeys{awaited_, commit_});
}

void CommitMachine::reread() {
  if (!lease_.is_held) return give_up("this node lost its lease before the outcome was known");
  waiting_ = Waiting::Read;
  awaited_ = next_ticket_++;
  std::vector<std::string> keys;
  for (const Write& write : commit_.writes) keys.push_back(write.key);
  actions_.push_back(ReadKeys{awaited_, std::move(keys)});
}

// Each written key was conditional on a version that only this owner could change: it shows either
// that version still, or what this commit wrote. One key decides for all.
void CommitMachine::on(const ReadDone& event, Instant now) {
  if (waiting_ != Waiting::Read || event.ticket != awaited_) return;
  if (!event.result) return retry_later(now);
  is_unknown_ = false;
  std::vector<StoreVersion> versions;
  for (std::size_t i = 0; i < commit_.writes.size(); ++i) {
    const Write& write = commit_.writes[i];
    const auto& stored = event.result->values.at(i);
    const bool is_applied = write.value ? stored && stored->value == *write.value : !stored;
    if (!is_applied) {
      if (commit_.epoch && event.result->epoch != *commit_.epoch) {
        return give_up(describe(ConflictCause::Epoch));
      }
      return on_not_applied(write.key, stored, now);
    }
    versions.push_back(stored ? stored->version : StoreVersion{});
  }
  finish({.kind = SettleOutcome::Kind::Applied,
          .versions = std::move(versions),
          .failed_key = {},
          .error = {}});
}

void CommitMachine::on_not_applied(const std::string& key, const std::optional<StoredValue>& stored,
                                   Instant now) {
  const auto condition = std::find_if(commit_.conditions.begin(), commit_.conditions.end(),
                                      [&](const Condition& each) { return each.key == key; });
  const std::optional<StoreVersion> present =
      stored ? std::optional(stored->version) : std::nullopt;
  if (condition != commit_.conditions.end() && condition->version == present) return submit(now);
  finish({.kind = SettleOutcome::Kind::Conflict, .versions = {}, .failed_key = key, .error = {}});
}

void CommitMachine::retry_later(Instant now) {
  waiting_ = Waiting::Backoff;
  retry_at_ = now + store_pause(random_, ++failures_);
  if (!is_unknown_ && now < deadline_) retry_at_ = std::min(retry_at_, deadline_);
  actions_.push_back(ArmTimer{retry_at_});
}

void CommitMachine::give_up(std::string_view reason) {
  give_up(Error::unavailable(fmt::format("{} was not carried out: {}", what_, reason)));
}

void CommitMachine::give_up(Error error) {
  finish({.kind = SettleOutcome::Kind::NotApplied,
          .versions = {},
          .failed_key = {},
          .error = std::move(error)});
}

void CommitMachine::finish(SettleOutcome outcome) {
  is_finished_ = true;
  waiting_ = Waiting::Nothing;
  actions_.push_back(CancelTimer{});
  actions_.push_back(settle::Finished{std::move(outcome)});
}

}  // namespace spotmesh::location
