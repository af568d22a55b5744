// A node as far as leases and creations go: the machines of location/ on a simulated store.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "location/authority.hpp"
#include "location/beat_watch.hpp"
#include "location/create.hpp"
#include "location/find.hpp"
#include "location/lease.hpp"
#include "machine_rig.hpp"
#include "sample_records.hpp"
#include "support/manual_time.hpp"
#include "testing/sim_faults.hpp"
#include "testing/sim_store.hpp"

namespace spotmesh::testing {

// What one creation did, as its caller and its node saw it.
struct Creation {
  std::optional<location::CreateOutcome> outcome;
  int answers = 0;
  int factory_runs = 0;
  int discards = 0;
  int slots_taken = 0;
  int slots_freed = 0;
  bool is_done = false;
  Instant answered_at{};
  bool is(location::CreateOutcome::Kind kind) const { return outcome && outcome->kind == kind; }
  bool failed_with(ErrorKind kind) const {
    return is(location::CreateOutcome::Kind::Failed) && outcome->error->kind() == kind;
  }
};

class TestNode : private location::LocalObjects {
 public:
  TestNode(SimStore& store, ManualTime& time, Random& random, const std::string& name)
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

  const std::string& name() const { return name_; }
  SimStore::Client& client() { return *client_; }
  const location::LeaseView& view() const { return lease_.view(); }
  location::LeaseMachine::State lease_state() const { return lease_.state(); }
  const std::vector<std::string>& events() const { return events_; }
  location::OwnerRun run() const { return location::run_of(*view().stamp); }
  location::OwnerVerdict verdict(const TestNode& other) const {
    return watch_.verdict(other.run(), time_.now());
  }
  void watch(const TestNode& other) { watch_rig_.feed(location::watch::Watch{other.run()}); }
  void release() { lease_rig_.feed(location::lease::Release{}); }
  // The process stops, or dies when it never goes on.
  void stop() {
    lease_rig_.stop();
    watch_rig_.stop();
    for (auto& job : jobs_) job.rig.stop();
  }
  void go_on() {
    lease_rig_.go_on();
    watch_rig_.go_on();
    for (auto& job : jobs_) job.rig.go_on();
  }
  SimFaults faults{1};

  // How the application answers; may be changed for each creation.
  struct Script {
    bool is_get_or_create = false;
    std::string type = "player";
    Duration timeout = std::chrono::seconds(5);
    Duration factory_time = std::chrono::milliseconds(1);
    // Of the factory and the acceptance callback together.
    std::function<location::create::Event()> verdict = [] {
      return location::create::Accepted{.membership = {}, .spot = {}, .reply = reply_of("welcome")};
    };
    std::optional<location::OperationKey> operation;
    std::optional<Error> slot_error;
  };

  const Creation& create(const std::string& id, Script script) {
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
                                    .wall_now = {1'000'000},
                                    .keep_terminal_until = {1'300'000}};
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
  void stop_creations() {
    for (auto& job : jobs_) job.rig.feed(location::create::Stop{});
  }

  Result<location::FindOutcome> find(const std::string& id) {
    location::FindMachine machine(location::ObjectKey::of(id_of<ActorId>(id)),
                                  time_.now() + std::chrono::seconds(5), environment());
    MachineRig<location::FindMachine, location::find::Event, location::find::Action> rig(
        machine, *client_, time_);
    std::optional<Result<location::FindOutcome>> outcome;
    rig.on_action = [&](const location::find::Action& action) {
      if (const auto* finished = std::get_if<location::find::Finished>(&action)) {
        outcome = finished->outcome;
      }
    };
    rig.feed(location::find::Start{});
    while (!outcome) REQUIRE(time_.run_next());
    return *outcome;
  }

  bool is_exposed(const std::string& id) const {
    return exposed_.contains(location::ObjectKey::of(id_of<ActorId>(id)).key);
  }
  // The object is gone from this node without its record.
  void drop(const std::string& id) {
    const std::string key = location::ObjectKey::of(id_of<ActorId>(id)).key;
    exposed_.erase(key);
    std::erase_if(has_, [&](const auto& held) { return held.first == key; });
  }
  location::AuthorityEnvironment& environment() {
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

 private:
  struct Job {
    Job(location::CreateRequest request, const location::AuthorityEnvironment& environment,
        location::LocationStore& store, ManualTime& time)
        : machine(std::move(request), environment), rig(machine, store, time) {}
    location::CreateMachine machine;
    MachineRig<location::CreateMachine, location::create::Event, location::create::Action> rig;
    Script script;
    std::string key;
    ObjectGeneration generation;
    Creation creation;
  };

  bool has(std::string_view key, ObjectGeneration generation) const override {
    return has_.contains({std::string(key), generation});
  }

  template <typename Action>
  void act(Job&, const Action&) {}
  void act(Job& job, const location::create::TakeSlot& action) {
    if (job.script.slot_error) {
      return later(job, location::create::SlotRefused{*job.script.slot_error}, Duration{0});
    }
    ++job.creation.slots_taken;
    job.generation = action.generation;
    has_.insert({job.key, action.generation});
    later(job, location::create::SlotTaken{}, Duration{0});
  }
  void act(Job& job, const location::create::FreeSlot&) {
    ++job.creation.slots_freed;
    has_.erase({job.key, job.generation});
  }
  void act(Job&, const location::create::WatchOwner& action) {
    watch_rig_.feed(location::watch::Watch{action.run});
  }
  void act(Job& job, const location::create::RunFactory&) {
    ++job.creation.factory_runs;
    later(job, job.script.verdict(), job.script.factory_time);
  }
  void act(Job& job, const location::create::DiscardInstance&) { ++job.creation.discards; }
  void act(Job& job, const location::create::Answer& action) {
    ++job.creation.answers;
    job.creation.outcome = action.outcome;
    job.creation.answered_at = time_.now();
    const bool is_new =
        action.outcome.kind == location::CreateOutcome::Kind::Created && !action.outcome.is_replay;
    if (is_new) exposed_.insert(job.key);
  }
  void act(Job& job, const location::create::Done&) { job.creation.is_done = true; }

  void later(Job& job, location::create::Event event, Duration delay) {
    time_.at(time_.now() + delay, [&job, event = std::move(event)] { job.rig.feed(event); });
  }

  void on_answer(const location::StoreEpoch& epoch, const std::string& failed_key) {
    if (epoch != view().epoch) lease_rig_.feed(location::lease::EpochSeen{epoch});
    if (view().stamp && failed_key == location::keys::lease(view().stamp->owner)) {
      lease_rig_.feed(location::lease::Doubted{});
    }
  }
  void on_lease(const location::lease::Action& action) {
    using namespace location::lease;
    if (std::holds_alternative<Acquired>(action)) events_.push_back("acquired");
    if (std::holds_alternative<EpochChanged>(action)) events_.push_back("epoch changed");
    if (std::holds_alternative<Reasserted>(action)) events_.push_back("reasserted");
    if (std::holds_alternative<QuietTimeOver>(action)) events_.push_back("quiet time over");
    if (std::holds_alternative<Fenced>(action)) events_.push_back("fenced");
    if (std::holds_alternative<Released>(action)) events_.push_back("released");
    if (std::holds_alternative<Fenced>(action)) exposed_.clear();
  }
  void on_watch(const location::watch::Action& action) {
    using namespace location::watch;
    if (const auto* silent = std::get_if<OwnerSilent>(&action)) {
      events_.push_back("silent " + silent->run.owner.text());
    }
    if (const auto* alive = std::get_if<OwnerAlive>(&action)) {
      events_.push_back("alive " + alive->run.owner.text());
    }
    if (const auto* fenced = std::get_if<OwnerFenced>(&action)) {
      events_.push_back("fenced " + fenced->run.owner.text());
    }
  }

  std::string name_;
  ManualTime& time_;
  Random& random_;
  std::unique_ptr<SimStore::Client> client_;
  location::LeaseMachine lease_;
  MachineRig<location::LeaseMachine, location::lease::Event, location::lease::Action> lease_rig_;
  location::BeatWatchMachine watch_;
  MachineRig<location::BeatWatchMachine, location::watch::Event, location::watch::Action>
      watch_rig_;
  std::optional<location::GenerationMint> mint_;
  std::unique_ptr<location::AuthorityEnvironment> environment_;
  std::list<Job> jobs_;
  std::set<std::pair<std::string, ObjectGeneration>> has_;
  std::set<std::string> exposed_;
  std::vector<std::string> events_;
};

}  // namespace spotmesh::testing
