#include "objects/turn_watch.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/registry.hpp"

namespace spotmesh::objects {
namespace {

// So many objects are looked at in one job of the strand, which has other work, too.
constexpr std::size_t objects_per_job = 4096;

}  // namespace

TurnWatch::TurnWatch(Core& core) : core_(core), timer_(core, [this] { begin_round(); }) {}

Duration TurnWatch::interval() const { return core_.config.turn_warning_after / 4; }

void TurnWatch::start() {
  is_running_ = true;
  timer_.arm(core_.now() + interval());
}

void TurnWatch::stop() {
  is_running_ = false;
  timer_.cancel();
}

void TurnWatch::begin_round() {
  found_.clear();
  look_at_shards(0);
}

void TurnWatch::look_at_shards(std::size_t first) {
  if (!is_running_) return;
  std::size_t seen = 0;
  for (std::size_t shard = first; shard < Registry::shard_count; ++shard) {
    if (seen >= objects_per_job) {
      return core_.strand.post([this, shard] { look_at_shards(shard); });
    }
    seen += look_at<ActorCell>(shard) + look_at<SpotCell>(shard);
  }
  end_round();
}

template <typename Cell>
void TurnWatch::look_at(const Cell& cell, const runtime::Mailbox& mailbox, Instant now) {
  const auto turn = mailbox.oldest_turn();
  if (!turn.has_value() || now - turn->since < core_.config.turn_warning_after) return;
  found_.insert({cell.name(), std::string(turn->what), turn->since, cell.id().text()});
}

template <typename Cell>
std::size_t TurnWatch::look_at(std::size_t shard) {
  const Instant now = core_.now();
  std::size_t seen = 0;
  core_.registry->look_at(shard, [&](Cell& cell) {
    ++seen;
    look_at(cell, cell.mailbox(), now);
    cell.timers().look_at_lanes([&](const runtime::Mailbox& lane) { look_at(cell, lane, now); });
  });
  return seen;
}

void TurnWatch::end_round() {
  std::map<Stuck, Duration> told;
  const Instant now = core_.now();
  for (const Stuck& stuck : found_) {
    const auto before = told_.find(stuck);
    const bool is_known = before != told_.end();
    const Duration age = now - stuck.since;
    if (is_known && age < 2 * before->second) {
      told.insert(*before);
      continue;
    }
    if (!is_known) core_.metrics.stuck_turns.add();
    report(stuck, age);
    told.emplace(stuck, age);
  }
  told_ = std::move(told);
  timer_.arm(now + interval());
}

void TurnWatch::report(const Stuck& stuck, Duration age) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
  core_.log(LogLevel::Warning, fmt::format("a turn of {} for '{}' has not ended after {} ms",
                                           stuck.owner, stuck.what, milliseconds));
  core_.emit(
      "turn.stuck", stuck.id,
      {{"owner", stuck.owner}, {"what", stuck.what}, {"age_ms", std::to_string(milliseconds)}});
}

}  // namespace spotmesh::objects
