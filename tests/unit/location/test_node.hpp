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
  int placings = 0;
  int slots_taken = 0;
  int slots_freed = 0;
  bool is_done = false;
  std::optional<ObjectGeneration> leftover;
  std::optional<location::VacantRecord> vacant;
  Instant answered_at{};
  bool is(location::CreateOutcome::Kind kind) const { return outcome && outcome->kind == kind; }
  bool failed_with(ErrorKind kind) const {
    return is(location::CreateOutcome::Kind::Failed) && outcome->error->kind() == kind;
  }
};

class TestNode : private location::LocalObjects {
 public:
  TestNode(SimStore& store, ManualTime& time, Random& random, const std::string& name);

  const std::string& name() const { return name_; }
  SimStore::Client& client() { return *client_; }
  const location::LeaseView& view() const { return lease_.view(); }
  location::LeaseMachine::State lease_state() const { return lease_.state(); }
  const std::vector<std::string>& events() const { return events_; }
  location::OwnerRun run() const { return location::run_of(*view().stamp); }
  location::OwnerVerdict verdict(const TestNode& other) const {
    return watch_.verdict(other.run(), time_.now());
  }
  void watch(const TestNode& other) {
    watch_rig_.feed(location::watch::Watch{*other.view().stamp});
  }
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
    // The answer to ChoosePlace; without it the place is not chosen here.
    std::function<location::create::Event()> place;
    std::optional<location::OperationKey> operation;
    std::optional<Error> slot_error;
    WallTime wall_now{1'000'000};
  };

  const Creation& create(const std::string& id, Script script);
  void stop_creations() {
    for (auto& job : jobs_)
      job.rig.feed(location::create::Stop{Error::shutting_down("the node stops")});
  }

  void tell(const Creation& creation, const location::create::Event& event) {
    for (auto& job : jobs_) {
      if (&job.creation == &creation) job.rig.feed(event);
    }
  }

  Result<location::FindOutcome> find(const std::string& id);
  // Whom find() and creations have read to be over.
  std::vector<location::OwnerStamp> take_owners_over() { return std::exchange(owners_over_, {}); }

  bool is_exposed(const std::string& id) const {
    return exposed_.contains(location::ObjectKey::of(id_of<ActorId>(id)).key);
  }
  // The object is gone from this node without its record.
  void drop(const std::string& id) {
    const std::string key = location::ObjectKey::of(id_of<ActorId>(id)).key;
    exposed_.erase(key);
    std::erase_if(has_, [&](const auto& held) { return held.first == key; });
  }
  location::AuthorityEnvironment& environment();

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
  void act(Job& job, const location::create::ChoosePlace& action);
  void act(Job& job, const location::create::TakeSlot& action);
  void act(Job& job, const location::create::FreeSlot& action);
  void act(Job& job, const location::create::WatchOwner& action);
  void act(Job& job, const location::create::OwnerOver& action);
  void act(Job& job, const location::create::RunFactory& action);
  void act(Job& job, const location::create::DiscardInstance& action);
  void act(Job& job, const location::create::Answer& action);
  void act(Job& job, const location::create::Done& action);
  void later(Job& job, location::create::Event event, Duration delay);

  void on_answer(const location::StoreEpoch& epoch, const std::string& failed_key);
  void on_lease(const location::lease::Action& action);
  void on_watch(const location::watch::Action& action);

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
  std::vector<location::OwnerStamp> owners_over_;
  std::set<std::pair<std::string, ObjectGeneration>> has_;
  std::set<std::string> exposed_;
  std::vector<std::string> events_;
};

}  // namespace spotmesh::testing
