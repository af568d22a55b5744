#include "objects/joins.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/join.hpp>
#include <spotmesh/limits.hpp>

#include "location/authority.hpp"
#include "location/keys.hpp"
#include "objects/actor_cell.hpp"
#include "objects/callback_job.hpp"
#include "objects/core.hpp"
#include "objects/destructions.hpp"
#include "objects/join_machine.hpp"
#include "objects/lease_driver.hpp"
#include "objects/machine_driver.hpp"
#include "objects/membership.hpp"
#include "objects/reassertions.hpp"
#include "objects/registry.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_operations.hpp"

namespace spotmesh::objects {
namespace {

using runtime::Ref;

std::string what_of(const DeferredJoin& join) {
  return join.spot.has_value()
             ? fmt::format("Join of {} to Spot '{}'", join.actor->name(), join.spot->text())
             : fmt::format("Join of {} to its Entry Spot", join.actor->name());
}

}  // namespace

class Joins::Run final : public MachineDriver<Run, join::Event> {
 public:
  Run(Core& core, Joins& joins, DeferredJoin join, std::uint64_t order)
      : MachineDriver(core),
        order(order),
        joins_(joins),
        join_(std::move(join)),
        actor_(join_.actor),
        former_(actor_->spot()),
        machine_(what_of(join_), join_.deadline) {}

  JoinMachine& machine() { return machine_; }
  bool is_of(const ActorCell& actor) const { return actor_.get() == &actor; }
  void let_go();

  void perform(join::Resolve&);
  void perform(join::Reserve&);
  void perform(join::RunAdmission&);
  void perform(join::ClaimActor&);
  void perform(join::WithdrawClaim&);
  void perform(join::CommitMembership&);
  void perform(join::DetachFromFormer&);
  void perform(join::SwitchMembership&);
  void perform(join::RunJoined&);
  void perform(join::RunLeave&);
  void perform(join::ReleaseClaim&) { actor_->release_claim(); }
  void perform(join::Unreserve&);
  void perform(join::Deliver& action);
  void perform(join::OpenBarrier&);
  void perform(join::Done&) { joins_.forget(this->shared_from_this()); }

  const std::uint64_t order;

 private:
  static Task<void> admit(std::shared_ptr<Run> self);
  static Task<void> join_target(std::shared_ptr<Run> self);
  static Task<void> leave_former(std::shared_ptr<Run> self);
  static Task<void> complete(std::shared_ptr<Run> self);

  // What is said of an Actor that is stepped down from is said in pairs all the same: the target,
  // which it leaves next, hears that it has come, and the former Spot that it has gone. Not so
  // when it never came to the switch: then the former Spot is the one it leaves.
  bool has_switched() const { return actor_->spot() == target_; }
  void take_target(Ref<SpotCell> target);
  void on_found(const Result<location::FindOutcome>& outcome);
  void on_admitted(std::optional<Error> error);
  void on_settled(const location::SettleOutcome& outcome);
  std::string target_name() const { return fmt::format("Spot '{}'", join_.spot->text()); }

  Joins& joins_;
  DeferredJoin join_;
  Ref<ActorCell> actor_;
  Ref<SpotCell> former_;
  Ref<SpotCell> target_;
  JoinMachine machine_;
  ActorCell::Claim* claim_ = nullptr;
  std::optional<location::AuthorityRecord> committing_;
  std::optional<JoinDecision> decision_;  // of the callback that has just run
  std::optional<JoinCompletion> completion_;
};

Joins::Joins(Core& core) : core_(core) {}
Joins::~Joins() = default;

bool Joins::ByStart::operator()(const std::shared_ptr<Run>& a,
                                const std::shared_ptr<Run>& b) const {
  return a->order < b->order;
}

void Joins::start(DeferredJoin join) {
  core_.strand.post([this, join = std::move(join)]() mutable {
    auto run = std::make_shared<Run>(core_, *this, std::move(join), ++started_);
    runs_.insert(run);
    run->feed(join::Start{});
  });
}

void Joins::stop_all(const Error& error) {
  const auto runs = runs_;
  for (const auto& run : runs) run->feed(join::Stop{error});
}

void Joins::stepped_down(const ActorCell& actor, const Error& reason) {
  const auto runs = runs_;
  for (const auto& run : runs) {
    if (run->is_of(actor)) run->feed(join::Stop{reason});
  }
}

void Joins::let_go() {
  for (const auto& run : runs_) run->let_go();
}

void Joins::Run::let_go() {
  claim_ = nullptr;
  if (actor_) actor_->drop_claims();
}

void Joins::Run::perform(join::Resolve&) {
  // First of all: the rooms of a node that stops are closing.
  if (core_.is_draining()) return feed(join::NotUsable{core_.stopping_error()});
  if (!join_.spot.has_value()) return take_target(core_.entry_spot(actor_->mesh()));
  if (auto local = core_.registry->find_spot(join_.spot->text())) {
    return take_target(std::move(local));
  }
  core_.operations->find(location::ObjectKey::of(*join_.spot), join_.deadline,
                         [self = shared_from_this()](const Result<location::FindOutcome>& found) {
                           self->on_found(found);
                         });
}

void Joins::Run::take_target(Ref<SpotCell> target) {
  target_ = std::move(target);
  if (target_ == former_) return feed(join::AlreadyThere{});
  if (target_->state != CellState::Ready) {
    return feed(join::NotUsable{Error::unavailable(target_->name() + " is closing")});
  }
  if (&target_->mesh() != &actor_->mesh()) {
    return feed(join::NotUsable{Error::invalid_operation(
        fmt::format("{} of mesh '{}' cannot join {} of mesh '{}'", actor_->name(),
                    actor_->mesh().name, target_->name(), target_->mesh().name))});
  }
  if (!SpotCallbacks::accepts_class_of(*target_->object(), *actor_->object())) {
    return feed(join::NotUsable{Error::type_mismatch(
        fmt::format("{} of type '{}' has no members of the class of Actor type '{}'",
                    target_->name(), target_->type().name, actor_->type().name.text()))});
  }
  feed(join::Found{});
}

void Joins::Run::on_found(const Result<location::FindOutcome>& outcome) {
  if (!outcome) return feed(join::NotUsable{outcome.error()});
  if (auto error = objects::error_of(*outcome, target_name())) {
    return feed(join::NotUsable{*std::move(error)});
  }
  if (auto local = core_.registry->find_spot(join_.spot->text())) {
    return take_target(std::move(local));
  }
  if (outcome->owner->rid == core_.identity.rid) {
    // Ready in a moment, or about to go.
    return feed(join::NotUsable{Error::unavailable(
        fmt::format("{} is just being made on this node, or ends", target_name()))});
  }
  if (actor_->type().model->relocation == registration::RelocationPolicy::Disabled) {
    return feed(join::NotUsable{Error::rejected(
        fmt::format("{} lives on node {}, and Actor type '{}' never moves to another node",
                    target_name(), outcome->owner->rid.text, actor_->type().name.text()))});
  }
  feed(join::NotUsable{Error::unavailable(
      fmt::format("{} lives on node {}; moving between nodes is not available yet", target_name(),
                  outcome->owner->rid.text))});
}

void Joins::Run::perform(join::Reserve&) {
  ++target_->transitions;
  ++former_->transitions;
}

void Joins::Run::perform(join::Unreserve&) {
  --target_->transitions;
  --former_->transitions;
  core_.destructions->close_if_empty(*target_);
  core_.destructions->close_if_empty(*former_);
}

Task<void> Joins::Run::admit(std::shared_ptr<Run> self) {
  self->decision_ = co_await SpotCallbacks::actor_join(
      *self->target_->object(), self->actor_->id().text(), self->join_.request);
}

void Joins::Run::perform(join::RunAdmission&) {
  const auto self = shared_from_this();
  push_callback(
      core_, target_->mailbox(), {.what = "on_actor_join", .spot = target_.get()},
      [self] { return admit(self); },
      [self](std::optional<Error> error) { self->on_admitted(std::move(error)); });
}

void Joins::Run::on_admitted(std::optional<Error> error) {
  const std::optional<JoinDecision> decision = std::exchange(decision_, std::nullopt);
  if (error.has_value()) return feed(join::AdmissionFailed{*std::move(error)});
  if (decision->is_accepted()) return feed(join::Admitted{decision->reply()});
  feed(join::Refused{decision->reply()});
}

void Joins::Run::perform(join::ClaimActor&) {
  claim_ = actor_->claim([self = shared_from_this()] {
    self->claim_ = nullptr;
    if (self->machine_.state() == JoinMachine::State::Claiming) {
      self->feed(join::Claimed{});
    } else {
      // Granted while it was given up.
      self->actor_->release_claim();
    }
  });
}

void Joins::Run::perform(join::WithdrawClaim&) {
  if (claim_ != nullptr && actor_->withdraw(claim_)) claim_ = nullptr;
}

void Joins::Run::perform(join::CommitMembership&) {
  const std::string what = what_of(join_);
  if (!core_.lease->view().may_create(core_.now())) {
    return feed(join::CommitFailed{Error::unavailable(
        what + ": this node's lease does not allow a change of membership now")});
  }
  core_.reassertions->unsettled(location::keys::actor(actor_->id()));
  committing_ = moved_record(*actor_, *former_, *target_);
  if (runtime::fault_strikes(core_.seams.faults, "join.skip-commit")) {
    return feed(join::Committed{});
  }
  core_.operations->settle(
      what, membership_commit(core_.lease->view(), *actor_, *former_, *target_, *committing_),
      join_.deadline, [self = shared_from_this()](const location::SettleOutcome& outcome) {
        self->on_settled(outcome);
      });
}

void Joins::Run::on_settled(const location::SettleOutcome& outcome) {
  const bool is_applied = outcome.kind == location::SettleOutcome::Kind::Applied;
  if (is_applied) {
    actor_->authority.emplace(
        location::VersionedAuthority{*std::exchange(committing_, std::nullopt),
                                     outcome.versions.front()},
        target_->member_authority);
  }
  core_.reassertions->settled(actor_);
  if (is_applied) return feed(join::Committed{});
  if (outcome.kind == location::SettleOutcome::Kind::NotApplied) {
    return feed(join::CommitFailed{*outcome.error});
  }
  feed(join::CommitFailed{
      membership_conflict(outcome.failed_key, *actor_, *target_, what_of(join_))});
}

void Joins::Run::perform(join::DetachFromFormer&) {
  const auto self = shared_from_this();
  const auto detached = [self](const std::optional<Error>&) { self->feed(join::Detached{}); };
  if (!former_->shares_gate()) return detached({});
  push_callback(
      core_, former_->mailbox(), {.what = "leaving", .spot = former_.get()},
      [self]() -> Task<void> {
        self->former_->remove_member(*self->actor_);
        return {};
      },
      detached);
}

void Joins::Run::perform(join::SwitchMembership&) {
  // Stepped down from meanwhile: it is no member of anything any more.
  if (actor_->state == CellState::Gone) return;
  actor_->is_leaving.store(true, std::memory_order_release);
  actor_->mailbox().move_to(target_->shares_gate() ? target_->gate() : actor_->own_gate());
  actor_->set_spot(target_);
  former_->member_count.fetch_sub(1);
  target_->member_count.fetch_add(1);
  core_.emit("actor.joined", actor_->id().text(),
             {{"spot", target_->id().text()}, {"from", former_->id().text()}});
}

Task<void> Joins::Run::join_target(std::shared_ptr<Run> self) {
  if (self->target_->shares_gate()) self->target_->add_member(self->actor_);
  co_await SpotCallbacks::joined_actor(*self->target_->object(), *self->actor_->object());
  if (runtime::fault_strikes(self->core_.seams.faults, "join.joined-twice")) {
    co_await SpotCallbacks::joined_actor(*self->target_->object(), *self->actor_->object());
  }
}

void Joins::Run::perform(join::RunJoined&) {
  if (!has_switched()) return feed(join::JoinedRan{});
  const auto self = shared_from_this();
  push_callback(
      core_, target_->mailbox(),
      {.what = "on_joined_actor", .actor = actor_.get(), .spot = target_.get()},
      [self] { return join_target(self); },
      [self](const std::optional<Error>&) { self->feed(join::JoinedRan{}); });
}

Task<void> Joins::Run::leave_former(std::shared_ptr<Run> self) {
  if (runtime::fault_strikes(self->core_.seams.faults, "join.skip-leave")) co_return;
  co_await SpotCallbacks::leave_actor(*self->former_->object(), *self->actor_->object());
}

void Joins::Run::perform(join::RunLeave&) {
  if (!has_switched()) return feed(join::LeaveRan{});
  const auto self = shared_from_this();
  push_callback(
      core_, former_->mailbox(),
      {.what = "on_leave_actor", .actor = actor_.get(), .spot = former_.get()},
      [self] { return leave_former(self); },
      [self](const std::optional<Error>&) {
        // One that is stepped down from goes on leaving: the target.
        if (self->actor_->state != CellState::Gone) {
          self->actor_->is_leaving.store(false, std::memory_order_release);
        }
        self->feed(join::LeaveRan{});
      });
}

Task<void> Joins::Run::complete(std::shared_ptr<Run> self) {
  co_await self->actor_->object()->on_join_completed(*self->completion_);
}

void Joins::Run::perform(join::Deliver& action) {
  const OperationId id = join_.operation;
  switch (action.end.kind) {
    case JoinEnd::Kind::Accepted:
      completion_ = JoinAccepted{id, actor_->ref(), std::move(action.end.reply)};
      break;
    case JoinEnd::Kind::Rejected:
      completion_ = JoinRejected{id, std::move(action.end.reply)};
      break;
    case JoinEnd::Kind::Failed:
      core_.emit("actor.join_failed", actor_->id().text(),
                 {{"reason", to_string(action.end.error)}});
      completion_ = JoinFailed{id, std::move(action.end.error)};
      break;
  }
  const auto self = shared_from_this();
  push_callback(
      core_, actor_->mailbox(),
      {.what = "on_join_completed", .actor = actor_.get(), .spot = actor_->spot().get()},
      [self] { return complete(self); },
      [self](const std::optional<Error>&) { self->feed(join::Delivered{}); });
}

void Joins::Run::perform(join::OpenBarrier&) {
  actor_->end_transition();
  actor_->mailbox().release_hold();
  core_.destructions->after_transition(*actor_);
}

}  // namespace spotmesh::objects
