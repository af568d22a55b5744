#include "location/lease_sweep.hpp"

#include <string_view>
#include <utility>

#include "location/authority.hpp"
#include "location/entry_spots.hpp"
#include "location/keys.hpp"
#include "location/records.hpp"

namespace spotmesh::location {

sweep::Actions LeaseSweep::on_event(const sweep::Event& event, Instant now) {
  actions_.clear();
  std::visit([&](const auto& each) { on(each, now); }, event);
  return std::move(actions_);
}

void LeaseSweep::on(const sweep::Start&, Instant now) {
  is_started_ = true;
  pause(now);
}

void LeaseSweep::on(const sweep::Stop&, Instant) {
  is_started_ = false;
  awaited_ = 0;
  old_.clear();
  looked_at_.reset();
  actions_.push_back(CancelTimer{});
}

void LeaseSweep::on(const TimerFired&, Instant now) {
  if (!is_started_ || awaited_ != 0 || now < next_sweep_) return;
  ++sweep_;
  deleted_ = 0;
  cursor_.clear();
  scan();
}

void LeaseSweep::on(const PageDone& event, Instant now) {
  if (event.ticket != awaited_) return;
  awaited_ = 0;
  if (const auto old = std::exchange(looked_at_, std::nullopt)) {
    // What cannot be read, or is of another epoch, is left to the next sweep.
    if (event.page && event.page->epoch == epoch_ && may_act(now)) {
      remove(*old, event.page->entries);
    }
    return go_on(now);
  }
  if (!event.page) return pause(now);
  if (event.page->epoch != epoch_) {
    epoch_ = event.page->epoch;
    fences_.clear();
  }
  for (const ScanEntry& entry : event.page->entries) take(entry, now);
  cursor_ = event.page->next;
  go_on(now);
}

void LeaseSweep::scan() {
  awaited_ = next_ticket_++;
  actions_.push_back(
      ScanKeys{awaited_, std::string(keys::lease_prefix), cursor_, sweep::scan_page});
}

bool LeaseSweep::may_act(Instant now) const {
  return lease_.may_create(now) && epoch_ == lease_.epoch;
}

void LeaseSweep::take(const ScanEntry& entry, Instant now) {
  const auto lease = decode_lease(entry.key, entry.stored.value);
  if (!lease || lease->state != LeaseState::Fenced) return;
  auto known = fences_.find(entry.key);
  if (known == fences_.end()) {
    if (fences_.size() >= sweep::most_remembered) return;
    known = fences_.emplace(entry.key, Fence{entry.stored.version, now, 0}).first;
  }
  Fence& fence = known->second;
  if (fence.version != entry.stored.version) fence = {entry.stored.version, now, 0};
  fence.seen_in = sweep_;
  if (!may_act(now) || now - fence.seen_at < sweep::kept_for) return;
  if (deleted_ >= sweep::most_deleted_at_once) return;
  ++deleted_;
  old_.push_back({entry.key, entry.stored.version});
}

void LeaseSweep::go_on(Instant now) {
  if (!old_.empty()) {
    Old old = std::move(old_.front());
    old_.pop_front();
    return look_at(std::move(old));
  }
  if (!cursor_.empty()) return scan();
  end_sweep();
  pause(now);
}

void LeaseSweep::look_at(Old old) {
  awaited_ = next_ticket_++;
  // A run that is named otherwise has none of that stem.
  const std::string_view run = std::string_view(old.key).substr(keys::lease_prefix.size());
  const std::string stem = entry_spot_stem(run).value_or(std::string(run));
  actions_.push_back(ScanKeys{
      awaited_, std::string(keys::spot_prefix) + stem, {}, sweep::most_entry_spots_deleted});
  looked_at_ = std::move(old);
}

// Somebody else's Spot may have such a name.
void LeaseSweep::remove(const Old& old, const std::vector<ScanEntry>& entry_spots) {
  const std::string_view run = std::string_view(old.key).substr(keys::lease_prefix.size());
  Commit commit = remove_object(lease_, old.key, old.version);
  for (const ScanEntry& entry : entry_spots) {
    const auto record = decode_authority(entry.key, entry.stored.value);
    if (!record || record->kind != ObjectKind::EntrySpot || record->owner.owner.text() != run) {
      continue;
    }
    commit.conditions.push_back({entry.key, entry.stored.version});
    commit.writes.push_back({entry.key, std::nullopt});
  }
  actions_.push_back(CommitKeys{next_ticket_++, std::move(commit)});
}

// What others have deleted meanwhile is forgotten.
void LeaseSweep::end_sweep() {
  std::erase_if(fences_, [this](const auto& each) { return each.second.seen_in != sweep_; });
}

// Nodes that started together do not stay together.
void LeaseSweep::pause(Instant now) {
  const auto spread = static_cast<std::uint64_t>(sweep::interval.count() / 4) + 1;
  next_sweep_ =
      now + sweep::interval - Duration(static_cast<Duration::rep>(random_below(random_, spread)));
  actions_.push_back(ArmTimer{next_sweep_});
}

}  // namespace spotmesh::location
