#include "objects/destructions.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "location/authority.hpp"
#include "location/keys.hpp"
#include "objects/callback_job.hpp"
#include "objects/capacity.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/registry.hpp"
#include "objects/session_routes.hpp"
#include "objects/store_operations.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {
namespace {

using runtime::Ref;

Error another_incarnation(const std::string& name, ObjectGeneration asked,
                          ObjectGeneration living) {
  return Error::invalid_operation(
      fmt::format("the ref names generation {} of {}, but generation {} lives there", asked.value,
                  name, living.value));
}

// What a lookup says about ending an object that this node does not have.
Result<bool> end_elsewhere(const Core& core, const Result<location::FindOutcome>& outcome,
                           TargetKind kind, const std::string& id, ObjectGeneration generation) {
  using location::Standing;
  if (!outcome) return fail(outcome.error());
  const std::string name =
      kind == TargetKind::Actor ? fmt::format("Actor '{}'", id) : fmt::format("Spot '{}'", id);
  if (outcome->standing == Standing::Missing || outcome->standing == Standing::OwnerLost) {
    return false;
  }
  const ObjectGeneration living = outcome->authority->record.object_generation;
  if (living != generation) return fail(another_incarnation(name, generation, living));
  if (auto error = error_of(*outcome, name)) return fail(*std::move(error));
  if (outcome->owner->rid == core.identity.rid) return false;
  return fail(core.seams.remote.unreachable(remote_owner(*outcome),
                                            {kind == TargetKind::Actor, id, generation}));
}

// For whoever came when the object was ending already: not he has ended it.
Destructions::Done gone_before(Destructions::Done done) {
  return [done = std::move(done)](Result<bool> ended) {
    if (ended) ended = false;
    done(std::move(ended));
  };
}

}  // namespace

Instant Destructions::next_deadline() const {
  return core_.now() + limits::default_operation_timeout;
}

Destructions::Removal Destructions::judge(const location::SettleOutcome& outcome) const {
  // A conflict on the object's own key: the record is not this incarnation's any more.
  if (outcome.kind != location::SettleOutcome::Kind::NotApplied) return Removal::Gone;
  return core_.lease->view().is_held ? Removal::Retry : Removal::Lost;
}

Destructions::Done Destructions::bounded(std::string what, Instant deadline, Done done) {
  const auto waiting = std::make_shared<Done>(std::move(done));
  const auto timer = std::make_shared<StrandTimer>(core_, [waiting, what = std::move(what)] {
    if (Done late = std::exchange(*waiting, nullptr)) {
      late(fail(Error::deadline_exceeded(what + " has not ended yet; it goes on")));
    }
  });
  timer->arm(deadline);
  return [waiting, timer](Result<bool> ended) {
    timer->cancel();
    if (Done answer = std::exchange(*waiting, nullptr)) answer(std::move(ended));
  };
}

void Destructions::destroy_later(ActorCell& actor) {
  actor.is_to_be_destroyed = true;
  after_transition(actor);
}

void Destructions::after_transition(ActorCell& actor) {
  if (!actor.is_to_be_destroyed || actor.is_in_transition()) return;
  actor.is_to_be_destroyed = false;
  destroy(actor.ref(), next_deadline(), [this, name = actor.name()](const Result<bool>& ended) {
    if (ended) return;
    core_.log(LogLevel::Warning,
              fmt::format("{} was to be destroyed: {}", name, to_string(ended.error())));
  });
}

void Destructions::destroy(const ActorRef& ref, Instant deadline, Done done) {
  const Ref<ActorCell> actor = core_.registry->find_actor(ref.actor_id.text());
  if (!actor) return destroy_elsewhere(ref, deadline, std::move(done));
  if (actor->generation() != ref.object_generation) {
    return done(
        fail(another_incarnation(actor->name(), ref.object_generation, actor->generation())));
  }
  if (actor->state == CellState::Ending) {
    waiting_actors_[actor.get()].push_back(
        bounded("destroy of " + actor->name(), deadline, gone_before(std::move(done))));
    return;
  }
  const Ref<SpotCell> spot = actor->spot();
  if (!spot->is_entry_spot()) {
    return done(fail(Error::invalid_operation(
        fmt::format("{} is in {}; only from its Entry Spot can it be destroyed: let it join_entry_"
                    "spot first",
                    actor->name(), spot->name()))));
  }
  if (!actor->begin_transition()) {
    return done(fail(Error::unavailable(actor->name() + " is about to change its Spot")));
  }
  waiting_actors_[actor.get()].push_back(
      bounded("destroy of " + actor->name(), deadline, std::move(done)));
  begin_destroy(actor, deadline);
}

void Destructions::destroy_elsewhere(const ActorRef& ref, Instant deadline, Done done) {
  core_.operations->find(
      location::ObjectKey::of(ref.actor_id), deadline,
      [this, ref, done = std::move(done)](const Result<location::FindOutcome>& outcome) {
        done(end_elsewhere(core_, outcome, TargetKind::Actor, ref.actor_id.text(),
                           ref.object_generation));
      });
}

// Admission closes first; then what is in progress ends; then the binding, then the record go.
void Destructions::begin_destroy(const Ref<ActorCell>& actor, Instant deadline) {
  actor->state = CellState::Ending;
  core_.emit("actor.ending", actor->id().text());
  actor->timers().close();
  actor->mailbox().close(Error::unavailable(actor->name() + " is being destroyed"));
  actor->claim([this, actor, deadline] { on_claimed(actor, deadline); });
}

void Destructions::on_claimed(const Ref<ActorCell>& actor, Instant deadline) {
  if (const auto binding = actor->set_binding({}); binding.has_value()) {
    core_.emit("actor.unbound", actor->id().text());
    if (core_.sessions != nullptr) core_.sessions->on_actor_gone(*binding, actor->id());
  }
  remove_record(actor, deadline);
}

void Destructions::remove_record(const Ref<ActorCell>& actor, Instant deadline) {
  if (runtime::fault_strikes(core_.seams.faults, "destroy.keep-record")) {
    return finish_destroy(actor);
  }
  core_.operations->settle(
      "destroy of " + actor->name(),
      location::remove_object(core_.lease->view(), location::keys::actor(actor->id()),
                              actor->authority->version),
      deadline, [this, actor](const location::SettleOutcome& outcome) {
        switch (judge(outcome)) {
          case Removal::Gone:
            return finish_destroy(actor);
          case Removal::Retry:
            for (const Done& done : std::exchange(waiting_actors_[actor.get()], {})) {
              done(fail(*outcome.error));
            }
            return remove_record(actor, next_deadline());
          case Removal::Lost:
            return;
        }
      });
}

void Destructions::finish_destroy(const Ref<ActorCell>& actor) {
  actor->state = CellState::Gone;
  core_.registry->remove(*actor);
  core_.lease->holdings().remove(location::keys::actor(actor->id()), actor->generation());
  if (!runtime::fault_strikes(core_.seams.faults, "capacity.leak")) {
    core_.capacity->free_actor(actor->mesh());
  }
  const Ref<SpotCell> spot = actor->spot();
  spot->member_count.fetch_sub(1);
  actor->release_claim();
  core_.emit("actor.destroyed", actor->id().text());
  auto waiting = waiting_actors_.extract(actor.get());
  for (const Done& done : waiting.mapped()) done(true);
}

void Destructions::close(const SpotRef& ref, Instant deadline, Done done) {
  const Ref<SpotCell> spot = core_.registry->find_spot(ref.spot_id.text());
  if (!spot) return close_elsewhere(ref, deadline, std::move(done));
  if (spot->generation() != ref.object_generation) {
    return done(fail(another_incarnation(spot->name(), ref.object_generation, spot->generation())));
  }
  if (spot->is_entry_spot()) {
    return done(fail(Error::invalid_operation(spot->name() + " ends with its node only")));
  }
  if (spot->state == CellState::Ending) {
    waiting_spots_[spot.get()].push_back(
        bounded("close of " + spot->name(), deadline, gone_before(std::move(done))));
    return;
  }
  if (!spot->is_empty()) return done(false);
  waiting_spots_[spot.get()].push_back(
      bounded("close of " + spot->name(), deadline, std::move(done)));
  begin_close(spot, ClosingReason::Requested, deadline);
}

void Destructions::close_elsewhere(const SpotRef& ref, Instant deadline, Done done) {
  core_.operations->find(
      location::ObjectKey::of(ref.spot_id), deadline,
      [this, ref, done = std::move(done)](const Result<location::FindOutcome>& outcome) {
        done(end_elsewhere(core_, outcome, TargetKind::Spot, ref.spot_id.text(),
                           ref.object_generation));
      });
}

void Destructions::close_if_empty(SpotCell& spot) {
  if (!spot.closes_when_empty || spot.state != CellState::Ready || !spot.is_empty()) return;
  waiting_spots_[&spot];
  begin_close(Ref<SpotCell>(&spot), ClosingReason::Empty, next_deadline());
}

void Destructions::run_closing(SpotCell& spot, ClosingReason reason, Instant deadline,
                               std::function<void()> done) {
  push_callback(
      core_, spot.mailbox(), {.what = "on_closing", .spot = &spot},
      [&spot, reason, deadline] {
        return SpotCallbacks::closing(*spot.object(), reason, deadline);
      },
      [done = std::move(done)](const std::optional<Error>&) { done(); });
}

void Destructions::begin_close(const Ref<SpotCell>& spot, ClosingReason reason, Instant deadline) {
  spot->state = CellState::Ending;
  core_.emit("spot.closing", spot->id().text(), {{"reason", std::string(to_string(reason))}});
  run_closing(*spot, reason, deadline, [this, spot, deadline] {
    spot->timers().close();
    spot->mailbox().close(Error::unavailable(spot->name() + " has been closed"));
    remove_record(spot, deadline);
  });
}

void Destructions::remove_record(const Ref<SpotCell>& spot, Instant deadline) {
  core_.operations->settle(
      "close of " + spot->name(),
      location::remove_object(core_.lease->view(), location::keys::spot(spot->id()),
                              spot->authority->version),
      deadline, [this, spot](const location::SettleOutcome& outcome) {
        switch (judge(outcome)) {
          case Removal::Gone:
            return finish_close(spot);
          case Removal::Retry:
            for (const Done& done : std::exchange(waiting_spots_[spot.get()], {})) {
              done(fail(*outcome.error));
            }
            return remove_record(spot, next_deadline());
          case Removal::Lost:
            return;
        }
      });
}

void Destructions::finish_close(const Ref<SpotCell>& spot) {
  spot->state = CellState::Gone;
  core_.registry->remove(*spot);
  core_.lease->holdings().remove(location::keys::spot(spot->id()), spot->generation());
  core_.capacity->free_spot(spot->mesh(), spot->type());
  core_.emit("spot.closed", spot->id().text());
  auto waiting = waiting_spots_.extract(spot.get());
  for (const Done& done : waiting.mapped()) done(true);
}

}  // namespace spotmesh::objects
