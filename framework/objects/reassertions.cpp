#include "objects/reassertions.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "location/keys.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/machine_driver.hpp"
#include "objects/registry.hpp"
#include "objects/step_down.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {

using runtime::Ref;

class Reassertions::Run final : public MachineDriver<Run, location::reassert::Event> {
 public:
  Run(Core& core, Reassertions& owner, std::map<std::string, Cell> cells,
      std::vector<location::HeldObject> objects)
      : MachineDriver(core),
        owner_(owner),
        round_(owner.round_),
        cells_(std::move(cells)),
        machine_(std::move(objects), owner.closes_at_, core.lease->environment()) {}

  location::ReassertMachine& machine() { return machine_; }
  bool is_decided() const { return is_decided_ || round_ != owner_.round_; }
  bool is_writing(const std::string& key) const { return machine_.is_writing(key); }

  void perform(location::reassert::Asserted& action) {
    if (round_ == owner_.round_) owner_.on_asserted(cells_.at(action.key), action.version);
  }
  void perform(location::reassert::SteppedDown& action) {
    if (round_ != owner_.round_) return;
    core_.quarantine(action.reason);
    owner_.drop(action.key, cells_.at(action.key), action.reason);
  }
  void perform(location::reassert::Leftover& action) { owner_.on_leftover(action.key); }
  void perform(location::reassert::Decided&) {
    is_decided_ = true;
    owner_.look();
  }
  void perform(location::reassert::Finished&) {
    std::erase(owner_.runs_, this->shared_from_this());
    if (round_ != owner_.round_) return;
    if (!is_decided_) owner_.is_superseded_ = true;
    owner_.look();
  }

 private:
  Reassertions& owner_;
  const std::uint64_t round_;
  std::map<std::string, Cell> cells_;
  location::ReassertMachine machine_;
  bool is_decided_ = false;
};

Reassertions::Reassertions(Core& core) : core_(core), closing_(core, [this] { on_closed(); }) {}
Reassertions::~Reassertions() = default;

void Reassertions::begin() {
  const Instant former = core_.lease->view().former_admission_deadline;
  // What was not asserted in the epoch between was given nothing by it.
  closes_at_ = is_pending_ ? std::min(closes_at_, former) : former;
  is_pending_ = true;
  is_superseded_ = false;
  ++round_;
  std::map<std::string, Cell> cells;
  std::vector<location::HeldObject> objects;
  const auto add = [&](std::string key, Cell cell, const location::AuthorityRecord& record) {
    if (unsettled_.contains(key)) return;
    objects.push_back({.key = key,
                       .record = record,
                       .is_unrivalled = record.kind == location::ObjectKind::EntrySpot});
    cells.emplace(std::move(key), std::move(cell));
  };
  // Members after what they are members of, and first what every creation here depends on.
  for (const bool is_entry : {true, false}) {
    for (const auto& spot : core_.registry->spots()) {
      if (spot->is_entry_spot() != is_entry || spot->is_record_going) continue;
      add(location::keys::spot(spot->id()), {.actor = {}, .spot = spot}, spot->authority->record);
    }
  }
  for (const auto& actor : core_.registry->actors()) {
    if (actor->is_record_going) continue;
    add(location::keys::actor(actor->id()), {.actor = actor, .spot = {}},
        actor->authority->record());
  }
  core_.log(
      LogLevel::Warning,
      fmt::format("the store has a new epoch: {} objects are asserted again", objects.size()));
  closing_.arm(closes_at_);
  assert_all(std::move(cells), std::move(objects));
}

void Reassertions::assert_all(std::map<std::string, Cell> cells,
                              std::vector<location::HeldObject> objects) {
  auto run = std::make_shared<Run>(core_, *this, std::move(cells), std::move(objects));
  runs_.push_back(run);
  run->feed(location::reassert::Start{});
}

void Reassertions::unsettled(const std::string& key) { unsettled_.insert(key); }

void Reassertions::settled(const Ref<ActorCell>& actor) {
  unsettled_.erase(location::keys::actor(actor->id()));
  if (actor->state != CellState::Gone) exposed(actor);
  look();
}

bool Reassertions::is_wanted(const std::string& key, const Cell& cell,
                             const location::StoreVersion& version) {
  // While the lease itself is asserted begin() is still to come, and finds it in the registry.
  if (version.epoch == core_.lease->view().epoch || core_.lease->is_reasserting()) return false;
  if (is_pending_) return true;
  drop(key, cell,
       Error::unavailable(fmt::format("'{}': the Location Store has a new epoch, and said too "
                                      "late that it had been written in the former one",
                                      location::keys::printable(key))));
  return false;
}

void Reassertions::exposed(const Ref<ActorCell>& actor) {
  const std::string key = location::keys::actor(actor->id());
  const Cell cell{.actor = actor, .spot = {}};
  if (!is_wanted(key, cell, actor->authority->version())) return;
  assert_all({{key, cell}}, {{.key = key, .record = actor->authority->record()}});
}

void Reassertions::exposed(const Ref<SpotCell>& spot) {
  const std::string key = location::keys::spot(spot->id());
  const Cell cell{.actor = {}, .spot = spot};
  const bool is_of_now = spot->authority->version.epoch == core_.lease->view().epoch;
  // An Entry Spot has no rival, so it is never too late for it.
  const bool is_entry = spot->is_entry_spot() && !is_of_now && !core_.lease->is_reasserting();
  if (!is_entry && !is_wanted(key, cell, spot->authority->version)) return;
  assert_all(
      {{key, cell}},
      {{.key = key, .record = spot->authority->record, .is_unrivalled = spot->is_entry_spot()}});
}

void Reassertions::forget(const std::string& key, std::function<void()> then) {
  const auto runs = runs_;
  for (const auto& run : runs) run->feed(location::reassert::Forget{key});
  if (!is_writing(key)) return then();
  removals_.emplace(key, std::move(then));
}

bool Reassertions::is_writing(const std::string& key) const {
  return std::ranges::any_of(runs_, [&](const auto& run) { return run->is_writing(key); });
}

void Reassertions::on_leftover(const std::string& key) {
  if (is_writing(key)) return;
  while (auto removal = removals_.extract(key)) removal.mapped()();
}

void Reassertions::on_asserted(const Cell& cell, const location::StoreVersion& version) {
  core_.metrics.reasserted_objects.add();
  if (cell.actor) {
    cell.actor->authority->set_version(version);
  } else {
    cell.spot->authority->version = version;
  }
}

void Reassertions::drop(const std::string& key, const Cell& cell, const Error& reason) {
  if (cell.actor) {
    step_down(cell.actor, reason);
    return remove_left(key, cell.actor->generation());
  }
  // A Spot takes its members along.
  std::vector<Ref<ActorCell>> members;
  for (const auto& actor : core_.registry->actors()) {
    if (actor->spot() == cell.spot) members.push_back(actor);
  }
  step_down(cell.spot, reason);
  for (const auto& actor : members) {
    remove_left(location::keys::actor(actor->id()), actor->generation());
  }
  remove_left(key, cell.spot->generation());
}

// A record that still names this node is what a commit left over that nobody waited for.
void Reassertions::remove_left(const std::string& key, ObjectGeneration generation) {
  forget(key, [this, key, generation] {
    core_.operations->remove(
        {.what = "removing what is left of '" + location::keys::printable(key) + "'",
         .key = key,
         .generation = generation,
         .version = {},
         .deadline = core_.now() + limits::default_operation_timeout},
        [](const Error&) {}, [](const location::RemoveOutcome&) {});
  });
}

void Reassertions::on_closed() {
  for (const std::string& key : std::exchange(unsettled_, {})) {
    for (const auto& actor : core_.registry->actors()) {
      if (location::keys::actor(actor->id()) != key) continue;
      drop(key, {.actor = actor, .spot = {}},
           Error::unavailable(actor->name() + ": the Location Store has a new epoch, and what "
                                              "became of its last change is unknown"));
    }
  }
  look();
}

void Reassertions::look() {
  if (!is_pending_ || is_superseded_ || !unsettled_.empty()) return;
  if (!std::ranges::all_of(runs_, [](const auto& run) { return run->is_decided(); })) return;
  is_pending_ = false;
  closing_.cancel();
  core_.lease->extend_admission();
}

}  // namespace spotmesh::objects
