#include "test_node.hpp"

namespace spotmesh::testing {

TestNode::TestNode(SimStore& store, ManualTime& time, Random& random, const std::string& name)
    : name_(name),
      time_(time),
      random_(random),
      client_(store.connect(name)),
      lease_({}, id_of<location::OwnerId>(name), {name}, {random.next_u64(), 1}, random),
      lease_rig_(lease_, *client_, time),
      watch_({}, lease_.view(), random),
      watch_rig_(watch_, *client_, time) {
  lease_rig_.on_action = [this](const auto& action) { on_lease(action); };
  watch_rig_.on_action = [this](const auto& action) { on_watch(action); };
  const auto tell_lease = [this](const auto& epoch, const auto& failed_key) {
    on_answer(epoch, failed_key);
  };
  watch_rig_.on_answer = tell_lease;
  lease_rig_.feed(location::lease::Start{});
}

const Creation& TestNode::create(const std::string& id, Script script) {
  REQUIRE(view().stamp);
  const location::OperationKey operation =
      script.operation.value_or(operation_of(random_.next_u64(), name_));
  location::CreateRequest request{.object = location::ObjectKey::of(id_of<ActorId>(id)),
                                  .kind = location::ObjectKind::Actor,
                                  .stable_type = id_of<StableType>(script.type),
                                  .is_get_or_create = script.is_get_or_create,
                                  .operation = operation,
                                  .reservation = random_id<ReservationId>(random_),
                                  .mesh = "play",
                                  .deadline = time_.now() + script.timeout,
                                  .wall_now = script.wall_now,
                                  .keep_terminal_until = {1'300'000},
                                  .chooses_place = static_cast<bool>(script.place)};
  Job& job = jobs_.emplace_back(std::move(request), environment(), *client_, time_);
  job.script = std::move(script);
  job.key = location::ObjectKey::of(id_of<ActorId>(id)).key;
  job.rig.on_answer = [this](const auto& epoch, const auto& failed_key) {
    on_answer(epoch, failed_key);
  };
  job.rig.on_action = [this, &job](const location::create::Action& action) {
    std::visit([&](const auto& each) { act(job, each); }, action);
  };
  job.rig.feed(location::create::Start{});
  return job.creation;
}

Result<location::FindOutcome> TestNode::find(const std::string& id) {
  location::FindMachine machine(location::ObjectKey::of(id_of<ActorId>(id)),
                                time_.now() + std::chrono::seconds(5), environment());
  MachineRig<location::FindMachine, location::find::Event, location::find::Action> rig(
      machine, *client_, time_);
  std::optional<Result<location::FindOutcome>> outcome;
  rig.on_action = [&](const location::find::Action& action) {
    if (const auto* finished = std::get_if<location::find::Finished>(&action)) {
      outcome = finished->outcome;
    }
    if (const auto* over = std::get_if<location::find::OwnerOver>(&action)) {
      owners_over_.push_back(over->owner);
    }
  };
  rig.feed(location::find::Start{});
  while (!outcome) REQUIRE(time_.run_next());
  return *outcome;
}

location::AuthorityEnvironment& TestNode::environment() {
  if (!environment_) {
    mint_.emplace(view().stamp->lease_generation);
    environment_.reset(new location::AuthorityEnvironment{.lease = lease_.view(),
                                                          .owners = watch_,
                                                          .local = *this,
                                                          .mint = *mint_,
                                                          .random = random_,
                                                          .faults = &faults});
  }
  return *environment_;
}

void TestNode::act(Job& job, const location::create::ChoosePlace&) {
  ++job.creation.placings;
  later(job, job.script.place(), Duration{0});
}

void TestNode::act(Job& job, const location::create::TakeSlot& action) {
  if (job.script.slot_error) {
    return later(job, location::create::SlotRefused{*job.script.slot_error}, Duration{0});
  }
  ++job.creation.slots_taken;
  job.generation = action.generation;
  has_.insert({job.key, action.generation});
  later(job, location::create::SlotTaken{}, Duration{0});
}

void TestNode::act(Job& job, const location::create::FreeSlot&) {
  ++job.creation.slots_freed;
  has_.erase({job.key, job.generation});
}

void TestNode::act(Job&, const location::create::WatchOwner& action) {
  watch_rig_.feed(location::watch::Watch{action.owner});
}

void TestNode::act(Job&, const location::create::OwnerOver& action) {
  owners_over_.push_back(action.owner);
}

void TestNode::act(Job& job, const location::create::RunFactory&) {
  ++job.creation.factory_runs;
  later(job, job.script.verdict(), job.script.factory_time);
}

void TestNode::act(Job& job, const location::create::DiscardInstance&) { ++job.creation.discards; }
void TestNode::act(Job& job, const location::create::Answer& action) {
  ++job.creation.answers;
  job.creation.outcome = action.outcome;
  job.creation.answered_at = time_.now();
  const bool is_new =
      action.outcome.kind == location::CreateOutcome::Kind::Created && !action.outcome.is_replay;
  if (is_new) exposed_.insert(job.key);
}

void TestNode::act(Job& job, const location::create::Done& action) {
  job.creation.is_done = true;
  job.creation.leftover = action.leftover;
  job.creation.vacant = action.vacant;
}

void TestNode::later(Job& job, location::create::Event event, Duration delay) {
  time_.at(time_.now() + delay, [&job, event = std::move(event)] { job.rig.feed(event); });
}

void TestNode::on_answer(const location::StoreEpoch& epoch, const std::string& failed_key) {
  if (epoch != view().epoch) lease_rig_.feed(location::lease::EpochSeen{epoch});
  if (view().stamp && failed_key == location::keys::lease(view().stamp->owner)) {
    lease_rig_.feed(location::lease::Doubted{});
  }
}

void TestNode::on_lease(const location::lease::Action& action) {
  using namespace location::lease;
  if (std::holds_alternative<Acquired>(action)) events_.push_back("acquired");
  if (std::holds_alternative<EpochChanged>(action)) events_.push_back("epoch changed");
  if (std::holds_alternative<Reasserted>(action)) events_.push_back("reasserted");
  if (std::holds_alternative<QuietTimeOver>(action)) events_.push_back("quiet time over");
  if (std::holds_alternative<Fenced>(action)) events_.push_back("fenced");
  if (std::holds_alternative<Released>(action)) events_.push_back("released");
  if (std::holds_alternative<Fenced>(action)) exposed_.clear();
}

void TestNode::on_watch(const location::watch::Action& action) {
  using namespace location::watch;
  if (const auto* silent = std::get_if<OwnerSilent>(&action)) {
    events_.push_back("silent " + silent->run.owner.text());
  }
  if (const auto* bad = std::get_if<BadRecord>(&action)) {
    events_.push_back("bad " + bad->error.message());
  }
  if (const auto* fenced = std::get_if<OwnerFenced>(&action)) {
    events_.push_back("fenced " + fenced->owner.rid.text);
  }
}

}  // namespace spotmesh::testing
