#include "objects/vacancies.hpp"

#include <algorithm>
#include <chrono>

#include <spotmesh/limits.hpp>

#include "location/authority.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

constexpr std::size_t records_per_commit = 60;
// From one commit to the next.
constexpr Duration pace = std::chrono::milliseconds(20);
// While the store is away, or this node may not act.
constexpr Duration longer_pause = std::chrono::seconds(1);

std::int64_t milliseconds_until(WallTime at, WallTime now) {
  constexpr std::int64_t longest =
      std::chrono::duration_cast<std::chrono::milliseconds>(limits::peer_longest_time).count();
  // The clock of another node may be wrong by any number.
  if (at.unix_milliseconds <= now.unix_milliseconds) return 0;
  if (at.unix_milliseconds - longest > now.unix_milliseconds) return longest;
  return at.unix_milliseconds - now.unix_milliseconds;
}

}  // namespace

Vacancies::Vacancies(Core& core) : core_(core), timer_(core, [this] { look(); }) {}

void Vacancies::add(std::string key, const location::VacantRecord& record) {
  if (is_stopped_) return;
  // A resend at that very moment is still answered from the record.
  const auto kept = std::chrono::milliseconds(
      milliseconds_until(record.keep_until, core_.seams.clock.wall_now()) + 1);
  if (const auto known = turns_.find(key); known != turns_.end()) {
    const Turn turn = known->second;
    turns_.erase(known);
    records_.erase(turn);
  }
  insert({core_.now() + kept, ++added_}, {std::move(key), record.version});
  if (!is_busy_) go_on({});
}

void Vacancies::met(std::string key, const location::VacantRecord& record) {
  if (milliseconds_until(record.keep_until, core_.seams.clock.wall_now()) > 0) return;
  if (!turns_.contains(key)) add(std::move(key), record);
}

void Vacancies::stop() {
  is_stopped_ = true;
  timer_.cancel();
  turns_.clear();
  records_.clear();
}

void Vacancies::insert(Turn turn, Record record) {
  const auto placed = records_.emplace(turn, std::move(record)).first;
  turns_.emplace(placed->second.key, turn);
}

bool Vacancies::is_due(Instant now) const {
  return !records_.empty() &&
         (records_.begin()->first.first <= now || records_.size() > most_vacancies);
}

void Vacancies::look() {
  const Instant now = core_.now();
  if (is_busy_ || is_stopped_ || !is_due(now)) return;
  const location::LeaseView& lease = core_.lease->view();
  if (!lease.is_held) return stop();
  if (!lease.may_create(now)) return go_on(longer_pause);
  is_busy_ = true;
  Batch batch = take_due(now);
  const bool is_of_this_epoch = std::ranges::all_of(
      batch, [&](const auto& each) { return each.second.version.epoch == lease.epoch; });
  return is_of_this_epoch ? erase(std::move(batch)) : read_versions(std::move(batch));
}

Vacancies::Batch Vacancies::take_due(Instant now) {
  Batch batch;
  while (is_due(now) && batch.size() < records_per_commit) {
    auto first = records_.extract(records_.begin());
    turns_.erase(first.mapped().key);
    batch.emplace_back(first.key(), std::move(first.mapped()));
  }
  return batch;
}

void Vacancies::erase(Batch batch) {
  if (batch.empty()) return on_erased({}, {.kind = location::SettleOutcome::Kind::Applied});
  location::Commit commit = location::owned_commit(core_.lease->view());
  for (const auto& [turn, record] : batch) {
    commit.conditions.push_back({record.key, record.version});
    commit.writes.push_back({record.key, std::nullopt});
  }
  core_.operations->settle(
      "records of refused creations", std::move(commit),
      core_.now() + limits::default_operation_timeout,
      [this, batch = std::move(batch)](const location::SettleOutcome& outcome) mutable {
        on_erased(std::move(batch), outcome);
      });
}

void Vacancies::read_versions(Batch batch) {
  std::vector<std::string> keys;
  for (const auto& [turn, record] : batch) keys.push_back(record.key);
  core_.store->read(std::move(keys), [this, batch = std::move(batch)](
                                         const Result<location::ReadResult>& result) mutable {
    const location::LeaseView& lease = core_.lease->view();
    if (!result || !lease.is_held || result->epoch != lease.epoch) {
      return on_erased(std::move(batch), {.kind = location::SettleOutcome::Kind::NotApplied});
    }
    Batch vacant;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto& [turn, known] = batch[i];
      const auto& stored = result->values[i];
      if (!stored.has_value()) continue;
      const auto record = location::decode_authority(known.key, stored->value);
      if (!record || record->state != location::AuthorityState::Vacant) continue;
      known.version = stored->version;
      vacant.emplace_back(turn, std::move(known));
    }
    erase(std::move(vacant));
  });
}

void Vacancies::on_erased(Batch batch, const location::SettleOutcome& outcome) {
  using Kind = location::SettleOutcome::Kind;
  is_busy_ = false;
  if (is_stopped_) return;
  if (outcome.kind == Kind::Applied) return go_on(pace);
  for (auto& [turn, record] : batch) {
    // Another creation has used that id since, perhaps here.
    const bool is_other = outcome.kind == Kind::Conflict && record.key == outcome.failed_key;
    if (!is_other && !turns_.contains(record.key)) insert(turn, std::move(record));
  }
  go_on(outcome.kind == Kind::Conflict ? pace : longer_pause);
}

void Vacancies::go_on(Duration pause) {
  if (records_.empty()) return timer_.cancel();
  const Instant now = core_.now();
  timer_.arm(is_due(now) ? now + pause : records_.begin()->first.first);
}

}  // namespace spotmesh::objects
