#include "objects/store_operations.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/machine_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/vacancies.hpp"

namespace spotmesh::objects {
namespace {

class FindRun final : public MachineDriver<FindRun, location::find::Event> {
 public:
  FindRun(Core& core, location::ObjectKey object, Instant deadline,
          std::function<void(Result<location::FindOutcome>)> done)
      : MachineDriver(core),
        machine_(std::move(object), deadline, core.lease->environment()),
        done_(std::move(done)) {}

  location::FindMachine& machine() { return machine_; }
  void perform(location::find::WatchOwner& action) { core_.lease->watch(action.owner); }
  void perform(location::find::OwnerOver& action) { core_.directory->owner_over(action.owner); }
  void perform(location::find::Finished& action) {
    std::exchange(done_, nullptr)(std::move(action.outcome));
  }

 private:
  location::FindMachine machine_;
  std::function<void(Result<location::FindOutcome>)> done_;
};

class CommitRun final : public MachineDriver<CommitRun, location::settle::Event> {
 public:
  CommitRun(Core& core, std::string what, location::Commit commit, Instant deadline,
            std::function<void(location::SettleOutcome)> done)
      : MachineDriver(core),
        machine_(std::move(what), std::move(commit), deadline, core.lease->view(),
                 core.seams.random),
        done_(std::move(done)) {}

  location::CommitMachine& machine() { return machine_; }
  void perform(location::settle::Finished& action) {
    std::exchange(done_, nullptr)(std::move(action.outcome));
  }

 private:
  location::CommitMachine machine_;
  std::function<void(location::SettleOutcome)> done_;
};

class RemoveRun final : public MachineDriver<RemoveRun, location::remove::Event> {
 public:
  RemoveRun(Core& core, location::RemoveRequest request, std::function<void(Error)> delayed,
            std::function<void(location::RemoveOutcome)> done)
      : MachineDriver(core),
        machine_(std::move(request), core.lease->view(), core.seams.random),
        delayed_(std::move(delayed)),
        done_(std::move(done)) {}

  location::RemoveMachine& machine() { return machine_; }
  void perform(location::remove::Delayed& action) { delayed_(std::move(action.error)); }
  void perform(location::remove::Finished& action) {
    std::exchange(done_, nullptr)(std::move(action.outcome));
  }

 private:
  location::RemoveMachine machine_;
  std::function<void(Error)> delayed_;
  std::function<void(location::RemoveOutcome)> done_;
};

}  // namespace

StoreOperations::StoreOperations(Core& core)
    : core_(core), vacancies_(std::make_unique<Vacancies>(core)) {}

StoreOperations::~StoreOperations() = default;

void StoreOperations::find(location::ObjectKey object, Instant deadline,
                           std::function<void(Result<location::FindOutcome>)> done) {
  auto found = [this, object, done = std::move(done)](Result<location::FindOutcome> outcome) {
    if (outcome && outcome->is_own_leftover) remove_leftover(object, *outcome);
    if (outcome && outcome->vacant) vacancies_->met(object.key, *outcome->vacant);
    done(std::move(outcome));
  };
  std::make_shared<FindRun>(core_, std::move(object), deadline, std::move(found))
      ->feed(location::find::Start{});
}

void StoreOperations::look_after(const location::ObjectKey& object) {
  if (looked_at_.size() >= limits::looks_for_others) return;  // it is asked for again
  if (!looked_at_.insert(object.key).second) return;
  find(object, core_.now() + limits::default_operation_timeout,
       [this, key = object.key](const Result<location::FindOutcome>&) { looked_at_.erase(key); });
}

void StoreOperations::remove_leftover(const location::ObjectKey& object,
                                      const location::FindOutcome& found) {
  if (!removed_.insert(object.key).second) return;
  remove(
      {.what = "removing the leftover record of " + object.name,
       .key = object.key,
       .generation = found.authority->record.object_generation,
       .version = found.authority->version,
       .deadline = core_.now() + limits::default_operation_timeout,
       .companions = {}},
      [](const Error&) {},
      [this, key = object.key](const location::RemoveOutcome&) { removed_.erase(key); });
}

void StoreOperations::settle(std::string what, location::Commit commit, Instant deadline,
                             std::function<void(location::SettleOutcome)> done) {
  std::make_shared<CommitRun>(core_, std::move(what), std::move(commit), deadline, std::move(done))
      ->feed(location::settle::Start{});
}

void StoreOperations::remove(location::RemoveRequest request, std::function<void(Error)> delayed,
                             std::function<void(location::RemoveOutcome)> done) {
  std::make_shared<RemoveRun>(core_, std::move(request), std::move(delayed), std::move(done))
      ->feed(location::remove::Start{});
}

location::ObjectKey object_key(TargetKind kind, const std::string& id) {
  return kind == TargetKind::Actor ? location::ObjectKey::of(*ActorId::parse(id))
                                   : location::ObjectKey::of(*SpotId::parse(id));
}

mesh::Peer owner_of(const location::FindOutcome& found) {
  return {found.owner->rid, found.owner->lifecycle};
}

std::optional<Error> error_of(const location::FindOutcome& found, const std::string& name) {
  switch (found.standing) {
    case location::Standing::Ready:
    case location::Standing::Unproven:
      return {};
    case location::Standing::Missing:
      return Error::not_found(fmt::format("nothing lives under {}", name));
    case location::Standing::Creating:
      return Error::unavailable(fmt::format("{} is being created", name));
    case location::Standing::Silent:
      return Error::unavailable(
          fmt::format("{} lives on node {}, whose lease has run out", name,
                      found.owner.has_value() ? found.owner->rid.text : std::string("(unknown)")));
    case location::Standing::OwnerLost:
      return Error::unavailable(
          fmt::format("{} lived on a node that has ended; create it again", name));
  }
  return Error::internal_failure(fmt::format("{} has an unknown standing", name));
}

}  // namespace spotmesh::objects
