#include "location/beat_watch.hpp"

#include <algorithm>
#include <utility>

namespace spotmesh::location {

using Outcome = CommitResult::Outcome;

namespace {

// Lease and beat of so many runs fit one read.
constexpr std::size_t runs_per_read = max_keys_per_operation / 2;
// A store that does not answer is not asked without end.
constexpr std::size_t max_reads_under_way = 64;

// The longest pause between two readings of one observation.
Duration longest_gap(const LeaseConfig& config) {
  return config.renew_interval + config.renew_timeout;
}

}  // namespace

bool is_over(const OwnerRun& run, const OwnerReading& reading) {
  if (!reading.lease) return !reading.lease_version;
  const LeaseGeneration generation = reading.lease->stamp.lease_generation;
  if (generation == run.generation) return reading.lease->state == LeaseState::Fenced;
  return generation > run.generation;
}

void OwnerObservation::observe(const LeaseConfig& config, const OwnerRun& run,
                               const OwnerReading& reading, Instant sent, Instant answered,
                               runtime::Faults* faults) {
  // An answer that was overtaken shows an older beat, which is no movement.
  if (was_read_ && sent < last_sent_) return;
  is_over_ = is_over(run, reading);
  const bool is_continued = was_read_ && (sent - last_sent_ <= longest_gap(config) ||
                                          runtime::fault_strikes(faults, "watch.skip-gap"));
  const bool has_changed = was_read_ && (reading.beat_version != last_.beat_version ||
                                         reading.lease_version != last_.lease_version);
  if (!is_continued || has_changed) still_since_ = answered;
  has_moved_ = is_continued && (has_moved_ || has_changed);
  last_ = reading;
  last_sent_ = sent;
  was_read_ = true;
}

OwnerVerdict OwnerObservation::verdict(const LeaseConfig& config, Instant now) const {
  if (is_over_) return OwnerVerdict::Fenced;
  if (!was_read_ || now - last_sent_ > longest_gap(config)) return OwnerVerdict::Unproven;
  if (last_sent_ - still_since_ >= config.ttl) return OwnerVerdict::Silent;
  return has_moved_ ? OwnerVerdict::Alive : OwnerVerdict::Unproven;
}

bool OwnerObservation::may_be_fenced(const LeaseConfig& config, Instant now) const {
  return verdict(config, now) == OwnerVerdict::Silent &&
         last_sent_ - still_since_ >= config.quiet_time();
}

BeatWatchMachine::BeatWatchMachine(LeaseConfig config, const LeaseView& lease, Random& random,
                                   runtime::Faults* faults)
    : config_(config), lease_(lease), random_(random), faults_(faults) {}

watch::Actions BeatWatchMachine::on_event(const watch::Event& event, Instant now) {
  actions_.clear();
  std::visit([&](const auto& each) { on(each, now); }, event);
  return std::move(actions_);
}

OwnerVerdict BeatWatchMachine::verdict(const OwnerRun& run, Instant now) const {
  if (const auto found = owners_.find(run); found != owners_.end()) {
    return found->second.observation.verdict(config_, now);
  }
  return is_known_as_fenced(run) ? OwnerVerdict::Fenced : OwnerVerdict::Unproven;
}

// What this node's lease has heard of first: a store that came back may have forgotten the fence,
// and whoever was fenced last may be all there is to be read.
bool BeatWatchMachine::is_known_as_fenced(const OwnerRun& run) const {
  return epoch_ == lease_.epoch && std::find(fenced_.begin(), fenced_.end(), run) != fenced_.end();
}

void BeatWatchMachine::on(const watch::Watch& event, Instant now) {
  // While nobody is watched nothing is read, and a new epoch is known from the lease alone.
  if (owners_.empty()) see(lease_.epoch);
  const OwnerRun run = run_of(event.owner);
  if (is_known_as_fenced(run)) return;
  const bool is_first = owners_.empty();
  if (!owners_.contains(run)) {
    if (owners_.size() == max_watched_owners) make_room();
    // Its first reading starts the observation, so it does not wait for the next round.
    if (rounds_.size() < max_reads_under_way) read({run}, now);
  }
  Owner& owner = owners_.try_emplace(run, Owner{.stamp = event.owner}).first->second;
  owner.last_asked = ++asked_;
  owner.last_asked_at = now;
  if (!is_first) return;
  next_round_ = now + config_.renew_interval / 2;
  actions_.push_back(ArmTimer{next_round_});
}

void BeatWatchMachine::on(const TimerFired&, Instant now) {
  if (owners_.empty() || now < next_round_) return;
  drop_idle(now);
  if (owners_.empty()) return;
  read_all(now);
  // Nodes that started together do not stay together.
  const auto spread = static_cast<std::uint64_t>(config_.renew_interval.count() / 8) + 1;
  next_round_ = now + config_.renew_interval / 2 -
                Duration(static_cast<Duration::rep>(random_below(random_, spread)));
  actions_.push_back(ArmTimer{next_round_});
}

// One that has fallen silent is watched until it is known what has become of it.
void BeatWatchMachine::drop_idle(Instant now) {
  std::erase_if(owners_, [&](const auto& entry) {
    const Owner& owner = entry.second;
    return now - owner.last_asked_at > watched_while_idle && owner.fence == 0 &&
           owner.observation.verdict(config_, now) != OwnerVerdict::Silent;
  });
}

void BeatWatchMachine::read_all(Instant now) {
  std::vector<OwnerRun> runs;
  for (const auto& [run, owner] : owners_) {
    if (rounds_.size() == max_reads_under_way) return;
    runs.push_back(run);
    if (runs.size() == runs_per_read) read(std::exchange(runs, {}), now);
  }
  if (!runs.empty()) read(std::move(runs), now);
}

void BeatWatchMachine::read(std::vector<OwnerRun> runs, Instant now) {
  ReadKeys action{.ticket = next_ticket_++, .keys = {}};
  // Two runs of one owner share their keys.
  std::vector<OwnerRun> apart;
  for (const OwnerRun& run : runs) {
    std::string key = keys::lease(run.owner);
    if (std::find(action.keys.begin(), action.keys.end(), key) != action.keys.end()) {
      apart.push_back(run);
      continue;
    }
    action.keys.push_back(std::move(key));
    action.keys.push_back(keys::beat(run.owner));
  }
  std::erase_if(runs, [&](const OwnerRun& run) {
    return std::find(apart.begin(), apart.end(), run) != apart.end();
  });
  rounds_.push_back({.ticket = action.ticket, .sent = now, .runs = std::move(runs)});
  actions_.push_back(std::move(action));
  if (!apart.empty()) read(std::move(apart), now);
}

void BeatWatchMachine::on(const ReadDone& event, Instant now) {
  const auto found = std::find_if(rounds_.begin(), rounds_.end(),
                                  [&](const Round& round) { return round.ticket == event.ticket; });
  if (found == rounds_.end()) return;
  const Round round = std::move(*found);
  rounds_.erase(found);
  if (event.result) take(round, *event.result, now);
}

// Beats of a store that forgot say nothing of the time before, and it may have forgotten fences.
void BeatWatchMachine::see(const StoreEpoch& epoch) {
  if (epoch == epoch_) return;
  epoch_ = epoch;
  for (auto& [run, owner] : owners_) owner.observation.forget();
  fenced_.clear();
}

void BeatWatchMachine::take(const Round& round, const ReadResult& result, Instant now) {
  see(result.epoch);
  const bool is_quiet = result.epoch != lease_.epoch || now < lease_.quiet_until;
  // A store that answers reads may take no commits, which makes every beat stand still. While it
  // takes none of this node's either, stillness says nothing of others; nor does it afterwards.
  const bool may_renew = lease_.admits(now);
  for (std::size_t i = 0; i < round.runs.size(); ++i) {
    const OwnerRun& run = round.runs[i];
    const auto found = owners_.find(run);
    if (found == owners_.end()) continue;
    const OwnerReading reading =
        reading_of(run, found->second, result.values.at(2 * i), result.values.at(2 * i + 1));
    // Its owner may still write it again.
    if (!reading.lease_version && is_quiet) continue;
    if (!may_renew) found->second.observation.forget();
    found->second.observation.observe(config_, run, reading, round.sent, now, faults_);
    judge(run, found->second, now);
  }
}

OwnerReading BeatWatchMachine::reading_of(const OwnerRun& run, Owner& owner,
                                          const std::optional<StoredValue>& lease,
                                          const std::optional<StoredValue>& beat) {
  OwnerReading reading;
  if (beat) reading.beat_version = beat->version;
  if (!lease) return reading;
  reading.lease_version = lease->version;
  auto decoded = decode_lease(keys::lease(run.owner), lease->value);
  if (decoded) {
    reading.lease = std::move(*decoded);
  } else if (owner.bad_lease != lease->version) {
    owner.bad_lease = lease->version;
    actions_.push_back(watch::BadRecord{decoded.error()});
  }
  return reading;
}

void BeatWatchMachine::judge(const OwnerRun& run, Owner& owner, Instant now) {
  const OwnerVerdict verdict = owner.observation.verdict(config_, now);
  if (verdict == OwnerVerdict::Fenced) return finish(OwnerStamp(owner.stamp));
  if (verdict == OwnerVerdict::Alive) owner.is_said_silent = false;
  if (verdict == OwnerVerdict::Silent && !std::exchange(owner.is_said_silent, true)) {
    actions_.push_back(watch::OwnerSilent{run});
  }
  const bool may_act = lease_.may_create(now) && epoch_ == lease_.epoch && owner.fence == 0;
  if (may_act && owner.observation.may_be_fenced(config_, now)) send_fence(run, owner);
}

void BeatWatchMachine::send_fence(const OwnerRun& run, Owner& owner) {
  const OwnerReading& seen = owner.observation.last();
  // A lease that does not parse or belongs to an earlier run is no lease of this run to fence.
  if (!seen.lease || seen.lease->stamp.lease_generation != run.generation) return;
  LeaseRecord fenced = *seen.lease;
  fenced.state = LeaseState::Fenced;
  Commit commit;
  commit.epoch = lease_.epoch;
  commit.conditions = {{keys::lease(lease_.stamp->owner), lease_.lease_version},
                       {keys::lease(run.owner), seen.lease_version},
                       {keys::beat(run.owner), seen.beat_version}};
  commit.writes = {{keys::lease(run.owner), encode(fenced)},
                   {keys::beat(run.owner), std::nullopt},
                   {keys::node(fenced.stamp.rid), std::nullopt}};
  owner.fence = next_ticket_++;
  actions_.push_back(CommitKeys{owner.fence, std::move(commit)});
}

void BeatWatchMachine::on(const CommitDone& event, Instant) {
  for (auto& [run, owner] : owners_) {
    if (owner.fence != event.ticket) continue;
    owner.fence = 0;
    // Whatever else came out, the next reading shows it.
    if (event.result.outcome == Outcome::Ok) finish(OwnerStamp(owner.stamp));
    return;
  }
}

// `owner` is a value of the caller's: its entry goes.
void BeatWatchMachine::finish(const OwnerStamp& owner) {
  const OwnerRun run = run_of(owner);
  owners_.erase(run);
  fenced_.push_back(run);
  if (fenced_.size() > max_watched_owners) fenced_.pop_front();
  actions_.push_back(watch::OwnerFenced{owner});
  if (owners_.empty()) actions_.push_back(CancelTimer{});
}

void BeatWatchMachine::make_room() {
  const auto oldest = std::min_element(
      owners_.begin(), owners_.end(),
      [](const auto& a, const auto& b) { return a.second.last_asked < b.second.last_asked; });
  owners_.erase(oldest);
}

}  // namespace spotmesh::location
