#include "objects/checkpoints.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/random.hpp"
#include "location/checkpoint.hpp"
#include "location/keys.hpp"
#include "objects/callback_job.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {

using runtime::Ref;

namespace {

constexpr Duration retry_pause = std::chrono::seconds(1);

// What a capture leaves behind for the strand.
struct Capture {
  Ref<ActorCell> actor;
  Bytes state;
};

Task<void> capture(std::shared_ptr<Capture> into) {
  ActorCell& actor = *into->actor;
  into->state = co_await actor.type().model->checkpoint_adapter->capture(*actor.object());
}

}  // namespace

struct Checkpoints::Entry {
  Entry(Core& core, Ref<ActorCell> cell, std::function<void()> due)
      : actor(std::move(cell)), timer(core, std::move(due)) {}

  Ref<ActorCell> actor;
  StrandTimer timer;
  std::optional<location::StoreVersion> version;  // of the checkpoint in the store
  std::optional<Bytes> written;                   // its state, while that is known
  std::uint64_t sequence = 0;
  bool must_read = false;  // `version` may be out of date
  bool is_busy = false;
  bool is_wanted = false;  // asked for while busy
  bool is_ended = false;
};

Checkpoints::Checkpoints(Core& core) : core_(core) {}
Checkpoints::~Checkpoints() = default;

void Checkpoints::read(const ActorId& id, const ActorType& type,
                       std::function<void(Result<RestoredState>)> done) {
  const std::string key = location::keys::checkpoint(id);
  core_.store->read({key}, [this, key, &type,
                            done = std::move(done)](const Result<location::ReadResult>& result) {
    if (!result) return done(fail(result.error()));
    const auto& stored = result->values.at(0);
    RestoredState restored;
    if (!stored.has_value()) return done(std::move(restored));
    auto record = location::decode_checkpoint(key, stored->value);
    if (!record) {
      core_.quarantine(record.error());
      return done(fail(record.error()));
    }
    restored.version = stored->version;
    restored.sequence = record->sequence;
    // Another type's state is nobody's; it is written over.
    if (record->stable_type == type.name) restored.state = std::move(record->state);
    done(std::move(restored));
  });
}

Instant Checkpoints::next_time(const Entry& entry) const {
  // Actors that were made together do not stay together.
  const Duration interval = entry.actor->type().model->checkpoint_interval;
  const auto spread = static_cast<std::uint64_t>(interval.count() / 4) + 1;
  return core_.now() + interval -
         Duration(static_cast<Duration::rep>(random_below(core_.seams.random, spread)));
}

void Checkpoints::begin(const Ref<ActorCell>& actor, RestoredState restored) {
  if (actor->type().model->checkpoint_adapter == nullptr) return;
  const ActorCell* key = actor.get();
  auto entry = std::make_shared<Entry>(core_, actor, [this, key] {
    if (const auto found = entries_.find(key); found != entries_.end()) start(found->second);
  });
  entry->version = restored.version;
  entry->written = std::move(restored.state);
  entry->sequence = restored.sequence;
  entry->timer.arm(next_time(*entry));
  entries_.emplace(key, std::move(entry));
}

void Checkpoints::request(const ActorCell& actor) {
  if (const auto found = entries_.find(&actor); found != entries_.end()) start(found->second);
}

std::vector<std::string> Checkpoints::end(const ActorCell& actor) {
  const auto found = entries_.find(&actor);
  if (found == entries_.end()) return {};
  found->second->is_ended = true;
  found->second->timer.cancel();
  entries_.erase(found);
  return {location::keys::checkpoint(actor.id())};
}

void Checkpoints::stop() {
  for (const auto& [cell, entry] : entries_) {
    entry->is_ended = true;
    entry->timer.cancel();
  }
  entries_.clear();
}

void Checkpoints::start(const std::shared_ptr<Entry>& entry) {
  if (entry->is_busy) {
    entry->is_wanted = true;
    return;
  }
  entry->is_busy = true;
  auto captured = std::make_shared<Capture>(Capture{.actor = entry->actor, .state = {}});
  push_callback(
      core_, entry->actor->mailbox(),
      {.what = "the capture of a checkpoint",
       .actor = entry->actor.get(),
       .spot = entry->actor->spot().get()},
      [captured] { return capture(captured); },
      [this, entry, captured](const std::optional<Error>& error) {
        on_captured(entry, std::move(captured->state), error);
      });
}

void Checkpoints::on_captured(const std::shared_ptr<Entry>& entry, Bytes state,
                              const std::optional<Error>& error) {
  if (entry->is_ended) return;
  if (error.has_value()) {
    failed(*entry, to_string(*error));
    return finish(entry);
  }
  if (state.size() > limits::checkpoint_bytes) {
    failed(*entry,
           fmt::format("it has {} bytes; {} are allowed", state.size(), limits::checkpoint_bytes));
    return finish(entry);
  }
  const location::LeaseView& lease = core_.lease->view();
  if (!lease.is_held) return;
  // In a quiet time only what lives is asserted again.
  if (!lease.may_create(core_.now())) {
    entry->is_busy = false;
    return entry->timer.arm(core_.now() + retry_pause);
  }
  if (entry->must_read || (entry->version.has_value() && entry->version->epoch != lease.epoch)) {
    return read_version(entry);
  }
  if (entry->written == state) return finish(entry);
  write(entry, std::move(state));
}

void Checkpoints::read_version(const std::shared_ptr<Entry>& entry) {
  core_.store->read({location::keys::checkpoint(entry->actor->id())},
                    [this, entry](const Result<location::ReadResult>& result) {
                      if (entry->is_ended) return;
                      entry->is_busy = false;
                      if (!result || result->epoch != core_.lease->view().epoch) {
                        return entry->timer.arm(core_.now() + retry_pause);
                      }
                      const auto& stored = result->values.at(0);
                      entry->version = stored ? std::optional(stored->version) : std::nullopt;
                      entry->written.reset();
                      entry->must_read = false;
                      start(entry);
                    });
}

void Checkpoints::write(const std::shared_ptr<Entry>& entry, Bytes state) {
  const ActorCell& actor = *entry->actor;
  const Ref<SpotCell> spot = actor.spot();
  location::Commit commit = location::write_checkpoint(
      core_.lease->view(), actor.id(), actor.authority->unpacked(),
      {location::keys::spot(spot->id()), spot->authority->version}, entry->version,
      {.stable_type = actor.type().name,
       .object_generation = actor.generation(),
       .sequence = entry->sequence + 1,
       .state = state});
  core_.operations->settle(
      "checkpoint of " + actor.name(), std::move(commit),
      core_.now() + limits::default_operation_timeout,
      [this, entry, state = std::move(state)](const location::SettleOutcome& outcome) mutable {
        on_settled(entry, std::move(state), outcome);
      });
}

void Checkpoints::on_settled(const std::shared_ptr<Entry>& entry, Bytes state,
                             const location::SettleOutcome& outcome) {
  using Kind = location::SettleOutcome::Kind;
  if (entry->is_ended) return;
  if (outcome.kind == Kind::Applied) {
    entry->version = outcome.versions.front();
    entry->written = std::move(state);
    ++entry->sequence;
    core_.metrics.checkpoints_written.add();
    return finish(entry);
  }
  // A change of membership meanwhile, or an earlier one of this node that was unknown: with what is
  // so now it is tried again. One that is refused for good ends with the lease, or the object.
  entry->must_read = true;
  entry->is_busy = false;
  failed(*entry, outcome.kind == Kind::NotApplied
                     ? outcome.error->message()
                     : fmt::format("'{}' has changed meanwhile",
                                   location::keys::printable(outcome.failed_key)));
  entry->timer.arm(core_.now() + retry_pause);
}

void Checkpoints::finish(const std::shared_ptr<Entry>& entry) {
  entry->is_busy = false;
  entry->timer.arm(next_time(*entry));
  if (std::exchange(entry->is_wanted, false)) start(entry);
}

void Checkpoints::failed(const Entry& entry, const std::string& why) {
  core_.metrics.checkpoints_failed.add();
  core_.log(LogLevel::Warning,
            fmt::format("no checkpoint of {} was written: {}", entry.actor->name(), why));
}

}  // namespace spotmesh::objects
