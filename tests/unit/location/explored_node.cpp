#include "explored_node.hpp"

#include <algorithm>

namespace spotmesh::testing {

using namespace location;
using namespace std::chrono_literals;

namespace {

constexpr Duration create_timeout = 2s;

}  // namespace

// The smallest that are valid and whole steps, in the proportions of the real ones: no pause of a
// machine is longer than a step.
LeaseConfig ExploredNode::config() {
  return {.renew_interval = 2s, .ttl = 5s, .renew_timeout = 1s, .margin = 1s};
}

const std::string& ExploredNode::object_key() {
  static const std::string key = keys::actor(id_of<ActorId>("x"));
  return key;
}

// The watch speaks of the lease beside it, which is in the same place after every bring_back().
ExploredNode::State::State(const std::string& name, std::uint64_t number, Random& random,
                           runtime::Faults& faults)
    : lease(config(), id_of<OwnerId>(name), {name}, {number, number}, random),
      watch(config(), lease.view(), random, &faults) {}

ExploredNode::ExploredNode(const std::string& name, std::uint64_t number, SwitchedFaults& faults)
    : name_(name),
      lease_key_(keys::lease(id_of<OwnerId>(name))),
      beat_key_(keys::beat(id_of<OwnerId>(name))),
      type_(id_of<StableType>("player")),
      state_(std::in_place, name, number, random_, faults),
      environment_{.lease = state_->lease.view(),
                   .owners = state_->watch,
                   .local = *this,
                   .mint = state_->mint,
                   .random = random_,
                   .faults = &faults} {}

void ExploredNode::watch(const OwnerStamp& owner, Instant now) {
  if (std::ranges::find(state_->watched, owner) == state_->watched.end()) {
    state_->watched.push_back(owner);
  }
  feed_watch(watch::Watch{owner}, now);
}

bool ExploredNode::may_ask() const {
  return !state_->create && !state_->exposed && state_->lease.state() == LeaseMachine::State::Held;
}

void ExploredNode::get_or_create(Instant now) {
  state_->create.emplace(CreateRequest{.object = {object_key(), "Actor \"x\""},
                                       .kind = ObjectKind::Actor,
                                       .stable_type = type_,
                                       .is_get_or_create = true,
                                       .operation = operation_of(1, name_),
                                       .reservation = {1, lease().stamp->lease_generation.value},
                                       .mesh = "play",
                                       .deadline = now + create_timeout,
                                       .wall_now = {1},
                                       .keep_terminal_until = {0}},
                         environment_);
  ++state_->serials[at(Part::Create)];
  feed_create(create::Start{}, now);
}

void ExploredNode::end_factory(Instant now) {
  state_->is_factory_running = false;
  feed_create(create::Accepted{}, now);
}

void ExploredNode::asked_for(ObjectGeneration generation, Instant now) {
  if (!state_->has.contains(generation) && lease().is_held) remove_leftover(generation, now);
}

void ExploredNode::remove_leftover(ObjectGeneration generation, Instant now) {
  if (state_->remove) {
    state_->leftover = generation;
    return;
  }
  state_->remove.emplace(RemoveRequest{.what = "leftover",
                                       .key = object_key(),
                                       .generation = generation,
                                       .version = {},
                                       .deadline = now + create_timeout,
                                       .companions = {}},
                         lease(), random_);
  ++state_->serials[at(Part::Remove)];
  feed_remove(remove::Start{}, now);
}

void ExploredNode::see(const StoreEpoch& epoch, const std::string& failed_key, Instant now) {
  const LeaseView& view = lease();
  if (view.is_held && epoch != view.epoch) feed_lease(lease::EpochSeen{epoch}, now);
  if (view.stamp && failed_key == keys::lease(view.stamp->owner)) {
    feed_lease(lease::Doubted{}, now);
  }
}

template <typename Event>
void ExploredNode::feed(Part part, const Event& event, Instant now) {
  switch (part) {
    case Part::Lease:
      return feed_lease(event, now);
    case Part::Watch:
      return feed_watch(event, now);
    case Part::Create:
      return feed_create(event, now);
    case Part::Reassert:
      return feed_reassert(event, now);
    case Part::Remove:
      return feed_remove(event, now);
  }
}

template <typename Event>
void ExploredNode::feed(const Operation& operation, const Event& event, Instant now) {
  if (operation.serial == state_->serials[at(operation.part)]) feed(operation.part, event, now);
}

ExploredNode::Operation ExploredNode::take_operation() {
  Operation operation = std::move(state_->operations.front());
  state_->operations.pop_front();
  return operation;
}

void ExploredNode::answer(const Operation& operation, const Result<ReadResult>& result,
                          Instant now) {
  if (result && operation.part != Part::Lease) see(result->epoch, {}, now);
  feed(operation, ReadDone{operation.ticket(), result}, now);
}

void ExploredNode::answer(const Operation& operation, const CommitResult& result, Instant now) {
  using Outcome = CommitResult::Outcome;
  const bool is_certain = result.outcome == Outcome::Ok || result.outcome == Outcome::Conflict;
  if (is_certain && operation.part != Part::Lease) see(result.epoch, result.failed_key, now);
  feed(operation, CommitDone{operation.ticket(), result}, now);
}

bool ExploredNode::is_next_renewal() const {
  if (state_->operations.empty()) return false;
  const Commit* commit = state_->operations.front().commit();
  return commit != nullptr && commit->writes.size() == 1 && commit->writes[0].key == beat_key_;
}

bool ExploredNode::is_next_watching() const {
  if (state_->operations.empty()) return false;
  const Operation& next = state_->operations.front();
  return next.part == Part::Watch && next.commit() == nullptr;
}

bool ExploredNode::has_due_timer(Instant now) const {
  return std::ranges::any_of(state_->timers, [&](const auto& at) { return at && *at <= now; });
}

void ExploredNode::fire_timers(Instant now) {
  for (const Part part : {Part::Lease, Part::Watch, Part::Reassert, Part::Remove, Part::Create}) {
    auto& timer = state_->timers[at(part)];
    if (!timer || *timer > now) continue;
    timer.reset();
    if (part == Part::Watch) {
      // Whoever is dealt with is asked for again, so that none is dropped.
      for (const OwnerStamp& owner : std::vector(state_->watched)) {
        feed_watch(watch::Watch{owner}, now);
      }
    }
    feed(part, TimerFired{}, now);
  }
}

bool ExploredNode::is_idle() const {
  const bool has_commit = std::ranges::any_of(
      state_->operations, [](const Operation& operation) { return operation.commit() != nullptr; });
  return !has_commit && !state_->create && !state_->remove && !state_->reassert;
}

void ExploredNode::forget_all() {
  state_->operations.clear();
  state_->timers = {};
  state_->exposed.reset();
}

void ExploredNode::feed_lease(const lease::Event& event, Instant now) {
  act(Part::Lease, state_->lease.on_event(event, now), now);
}
void ExploredNode::feed_watch(const watch::Event& event, Instant now) {
  act(Part::Watch, state_->watch.on_event(event, now), now);
}
void ExploredNode::feed_create(const create::Event& event, Instant now) {
  if (!state_->create) return;
  act(Part::Create, state_->create->on_event(event, now), now);
  if (std::exchange(is_slot_taken_, false)) feed_create(create::SlotTaken{}, now);
}
void ExploredNode::feed_reassert(const reassert::Event& event, Instant now) {
  if (state_->reassert) act(Part::Reassert, state_->reassert->on_event(event, now), now);
}
void ExploredNode::feed_remove(const remove::Event& event, Instant now) {
  if (state_->remove) act(Part::Remove, state_->remove->on_event(event, now), now);
}

template <typename Actions>
void ExploredNode::act(Part part, const Actions& actions, Instant now) {
  const std::uint64_t serial = state_->serials[at(part)];
  for (const auto& action : actions) {
    if (const auto* read = std::get_if<ReadKeys>(&action)) {
      state_->operations.push_back({part, serial, now, *read});
    } else if (const auto* commit = std::get_if<CommitKeys>(&action)) {
      state_->operations.push_back({part, serial, now, *commit});
    } else if (const auto* timer = std::get_if<ArmTimer>(&action)) {
      state_->timers[at(part)] = timer->deadline;
    } else if (std::holds_alternative<CancelTimer>(action)) {
      state_->timers[at(part)].reset();
    } else {
      perform(action, now);
    }
  }
}

void ExploredNode::extend() {
  if (state_->is_deciding) return;
  state_->admission = std::max(state_->admission, lease().admission_deadline);
}

void ExploredNode::perform(const lease::Action& action, Instant now) {
  if (std::holds_alternative<lease::Acquired>(action)) {
    state_->mint = GenerationMint(lease().stamp->lease_generation);
    extend();
  }
  if (std::holds_alternative<lease::Extended>(action)) extend();
  if (std::holds_alternative<lease::Reasserted>(action)) {
    state_->is_deciding = true;
    std::vector<HeldObject> held;
    if (state_->exposed) held.push_back({object_key(), state_->exposed->record, false});
    state_->reassert.emplace(std::move(held), lease().former_admission_deadline, environment_);
    ++state_->serials[at(Part::Reassert)];
    feed_reassert(reassert::Start{}, now);
  }
  if (std::holds_alternative<lease::Fenced>(action)) {
    state_->was_fenced = true;
    state_->admission = Instant{Duration::min()};
    state_->exposed.reset();
  }
}

void ExploredNode::perform(const watch::Action& action, Instant) {
  const auto* fenced = std::get_if<watch::OwnerFenced>(&action);
  if (fenced != nullptr) std::erase(state_->watched, fenced->owner);
}

void ExploredNode::perform(const reassert::Action& action, Instant now) {
  if (const auto* asserted = std::get_if<reassert::Asserted>(&action)) {
    if (state_->exposed) state_->exposed->version = asserted->version;
  }
  if (std::holds_alternative<reassert::SteppedDown>(action)) step_down();
  if (const auto* left = std::get_if<reassert::Leftover>(&action)) {
    remove_leftover(left->generation, now);
  }
  if (std::holds_alternative<reassert::Decided>(action)) {
    state_->is_deciding = false;
    extend();
  }
  if (std::holds_alternative<reassert::Finished>(action)) {
    state_->reassert.reset();
    ++state_->serials[at(Part::Reassert)];
  }
}

void ExploredNode::step_down() {
  if (!state_->exposed) return;
  state_->has.erase(state_->exposed->generation);
  --state_->slots;
  state_->exposed.reset();
}

void ExploredNode::perform(const remove::Action& action, Instant now) {
  if (!std::holds_alternative<remove::Finished>(action)) return;
  state_->remove.reset();
  ++state_->serials[at(Part::Remove)];
  if (const auto again = std::exchange(state_->leftover, std::nullopt)) {
    if (!state_->has.contains(*again)) remove_leftover(*again, now);
  }
}

void ExploredNode::perform(const create::Action& action, Instant now) {
  if (const auto* take = std::get_if<create::TakeSlot>(&action)) {
    ++state_->slots;
    state_->minted = state_->pending = take->generation;
    state_->has.insert(take->generation);
    is_slot_taken_ = true;
  }
  if (std::holds_alternative<create::FreeSlot>(action)) {
    --state_->slots;
    state_->has.erase(state_->pending);
  }
  if (const auto* watched = std::get_if<create::WatchOwner>(&action)) watch(watched->owner, now);
  if (const auto* run = std::get_if<create::RunFactory>(&action)) {
    state_->is_factory_running = true;
    state_->has_made_twice |= run->record.object_generation <= state_->made;
    state_->made = run->record.object_generation;
    state_->reserved_in = run->record.reserved_in;
  }
  if (std::holds_alternative<create::DiscardInstance>(action)) state_->is_factory_running = false;
  if (const auto* answer = std::get_if<create::Answer>(&action)) {
    outcome_ = answer->outcome;
    if (answer->outcome.kind == CreateOutcome::Kind::Created) on_created(answer->outcome);
  }
  if (const auto* done = std::get_if<create::Done>(&action)) {
    const auto leftover = done->leftover;
    state_->create.reset();
    state_->is_factory_running = false;
    ++state_->serials[at(Part::Create)];
    if (leftover) remove_leftover(*leftover, now);
  }
}

void ExploredNode::on_created(const CreateOutcome& outcome) {
  if (!lease().is_held) return;
  state_->exposed = Exposed{.generation = outcome.object_generation,
                            .record = outcome.authority->record,
                            .version = outcome.authority->version};
  // Committed just before the store forgot, and told too late to be asserted.
  const bool is_of_now = state_->exposed->version.epoch == lease().epoch;
  if (!is_of_now && state_->lease.state() != LeaseMachine::State::Reasserting) step_down();
}

}  // namespace spotmesh::testing
