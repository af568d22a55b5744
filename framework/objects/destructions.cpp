#include "objects/destructions.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "location/authority.hpp"
#include "location/keys.hpp"
#include "objects/callback_job.hpp"
#include "objects/capacity.hpp"
#include "objects/checkpoints.hpp"
#include "objects/core.hpp"
#include "objects/envelope.hpp"
#include "objects/lease_driver.hpp"
#include "objects/peer_ends.hpp"
#include "objects/reassertions.hpp"
#include "objects/registry.hpp"
#include "objects/remote_sessions.hpp"
#include "objects/store_operations.hpp"
#include "objects/store_port.hpp"
#include "objects/subscriptions.hpp"

namespace spotmesh::objects {
namespace {

using runtime::Ref;

Error another_incarnation(const std::string& name, ObjectGeneration asked,
                          ObjectGeneration living) {
  return Error::invalid_operation(
      fmt::format("the ref names generation {} of {}, but generation {} lives there", asked.value,
                  name, living.value));
}

// What a lookup says about ending an object that this node does not have; nothing when its owner
// is to be asked.
std::optional<Result<bool>> answer_without_owner(const Core& core,
                                                 const Result<location::FindOutcome>& outcome,
                                                 const std::string& name,
                                                 ObjectGeneration generation) {
  using location::Standing;
  if (!outcome) return fail(outcome.error());
  if (outcome->standing == Standing::Missing || outcome->standing == Standing::OwnerLost) {
    return false;
  }
  const ObjectGeneration living = outcome->authority->record.object_generation;
  if (living != generation) return fail(another_incarnation(name, generation, living));
  if (auto error = error_of(*outcome, name)) return fail(*std::move(error));
  if (outcome->owner->rid == core.identity.rid) {
    return fail(Error::unavailable(name + " has been created a moment ago and is not here yet"));
  }
  return {};
}

// For whoever came when the object was ending already: not he has ended it.
Destructions::Done gone_before(Destructions::Done done) {
  return [done = std::move(done)](Result<bool> ended) {
    if (ended) ended = false;
    done(std::move(ended));
  };
}

// Ends the waiting for an object, if anybody still waits.
template <typename Cell>
void answer(std::map<const Cell*, std::vector<Destructions::Done>>& waiting, const Cell& cell,
            const Result<bool>& result) {
  const auto entry = waiting.extract(&cell);
  if (entry.empty()) return;
  for (const Destructions::Done& done : entry.mapped()) done(result);
}

// Tells those who wait why it goes on without them.
template <typename Cell>
void tell(std::map<const Cell*, std::vector<Destructions::Done>>& waiting, const Cell& cell,
          const Error& error) {
  const auto entry = waiting.find(&cell);
  if (entry == waiting.end()) return;
  for (const Destructions::Done& done : std::exchange(entry->second, {})) done(fail(error));
}

}  // namespace

Instant Destructions::next_deadline() const {
  return core_.now() + limits::default_operation_timeout;
}

Result<bool> Destructions::answer_to(const location::RemoveOutcome& outcome) {
  using Kind = location::RemoveOutcome::Kind;
  if (outcome.kind == Kind::Removed) return true;
  if (outcome.kind == Kind::Gone) return false;
  return fail(*outcome.error);
}

bool Destructions::is_over(const location::RemoveOutcome& outcome) {
  // With the lease everything of this node has ended where it stood.
  return outcome.kind != location::RemoveOutcome::Kind::LeaseLost;
}

std::optional<Error> Destructions::quiet_time(const std::string& what) const {
  if (core_.now() >= core_.lease->view().quiet_until) return {};
  return Error::unavailable(
      what +
      ": the Location Store has a new epoch; nothing is ended until its owners have told "
      "what they hold");
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
  // In a quiet time, too: it is waited out.
  destroy_here(Ref<ActorCell>(&actor), next_deadline(),
               [this, name = actor.name()](const Result<bool>& ended) {
                 if (ended) return;
                 core_.log(LogLevel::Warning, fmt::format("{} was to be destroyed: {}", name,
                                                          to_string(ended.error())));
               });
}

void Destructions::destroy(const ActorRef& ref, Instant deadline, Done done, Reach reach) {
  const Ref<ActorCell> actor = core_.registry->find_actor(ref.actor_id.text());
  if (!actor) {
    return end_elsewhere(TargetKind::Actor, ref.actor_id.text(), ref.object_generation, deadline,
                         reach, std::move(done));
  }
  if (auto error = core_.not_admitted("destroy of " + actor->name())) {
    return done(fail(*std::move(error)));
  }
  if (actor->generation() != ref.object_generation) {
    return done(
        fail(another_incarnation(actor->name(), ref.object_generation, actor->generation())));
  }
  if (actor->state != CellState::Ending) {
    if (auto error = quiet_time("destroy of " + actor->name())) {
      return done(fail(*std::move(error)));
    }
  }
  destroy_here(actor, deadline, std::move(done));
}

void Destructions::destroy_here(const Ref<ActorCell>& actor, Instant deadline, Done done) {
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

void Destructions::end_elsewhere(TargetKind kind, const std::string& id,
                                 ObjectGeneration generation, Instant deadline, Reach reach,
                                 Done done) {
  core_.operations->find(
      object_key(kind, id), deadline,
      [=, this, done = std::move(done)](const Result<location::FindOutcome>& outcome) {
        const std::string name = target_name(kind, id);
        if (auto answer = answer_without_owner(core_, outcome, name, generation)) {
          return done(*std::move(answer));
        }
        const mesh::Peer owner = owner_of(*outcome);
        if (reach == Reach::ThisNode) {
          return done(fail(Error::unavailable(
              fmt::format("{} lives on node {}, not here", name, owner.node.text))));
        }
        core_.ends->end(owner, kind, id, generation, deadline, done);
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
  // Stepped down from since the claim was granted: who waited has been told.
  if (actor->state == CellState::Gone) return actor->release_claim();
  if (const auto binding = actor->set_binding({}); binding.has_value()) {
    core_.emit("actor.unbound", actor->id().text());
    core_.remote_sessions->on_actor_gone(*binding, actor->id());
  }
  remove_record(actor, deadline);
}

void Destructions::remove_record(const Ref<ActorCell>& actor, Instant deadline) {
  actor->is_record_going = true;
  if (runtime::fault_strikes(core_.seams.faults, "destroy.keep-record")) {
    location::RemoveOutcome kept;
    kept.kind = location::RemoveOutcome::Kind::Removed;
    return on_removed(actor, kept);
  }
  location::RemoveRequest request{.what = "destroy of " + actor->name(),
                                  .key = location::keys::actor(actor->id()),
                                  .generation = actor->generation(),
                                  .version = actor->authority->version(),
                                  .deadline = deadline,
                                  .companions = core_.checkpoints->end(*actor)};
  const std::string key = request.key;
  core_.reassertions->forget(key, [this, actor, request = std::move(request)]() mutable {
    core_.operations->remove(
        std::move(request),
        [this, actor](const Error& error) { tell(waiting_actors_, *actor, error); },
        [this, actor](const location::RemoveOutcome& outcome) { on_removed(actor, outcome); });
  });
}

void Destructions::on_removed(const Ref<ActorCell>& actor, const location::RemoveOutcome& outcome) {
  if (is_over(outcome)) actor->release_claim();
  // One that was stepped down from meanwhile has nothing left to free.
  if (is_over(outcome) && actor->state != CellState::Gone) {
    actor->state = CellState::Gone;
    core_.registry->remove(*actor);
    core_.lease->holdings().remove(location::keys::actor(actor->id()), actor->generation());
    if (!runtime::fault_strikes(core_.seams.faults, "capacity.leak")) {
      core_.capacity->free_actor(actor->mesh());
    }
    actor->spot()->member_count.fetch_sub(1);
    core_.emit("actor.destroyed", actor->id().text());
  }
  answer(waiting_actors_, *actor, answer_to(outcome));
}

void Destructions::stepped_down(const ActorCell& actor, const Error& reason) {
  answer(waiting_actors_, actor, fail(reason));
}

void Destructions::stepped_down(const SpotCell& spot, const Error& reason) {
  answer(waiting_spots_, spot, fail(reason));
}

void Destructions::close(const SpotRef& ref, Instant deadline, Done done, Reach reach) {
  const Ref<SpotCell> spot = core_.registry->find_spot(ref.spot_id.text());
  if (!spot) {
    return end_elsewhere(TargetKind::Spot, ref.spot_id.text(), ref.object_generation, deadline,
                         reach, std::move(done));
  }
  if (auto error = core_.not_admitted("close of " + spot->name())) {
    return done(fail(*std::move(error)));
  }
  if (spot->generation() != ref.object_generation) {
    return done(fail(another_incarnation(spot->name(), ref.object_generation, spot->generation())));
  }
  if (spot->is_entry_spot()) {
    return done(fail(Error::invalid_operation(spot->name() + " ends with its node only")));
  }
  if (spot->state == CellState::Ending) {
    const auto waiting = waiting_spots_.find(spot.get());
    // The node stops, and waits for all who wait for an end before the record of this one goes.
    if (waiting == waiting_spots_.end()) return done(fail(core_.stopping_error()));
    waiting->second.push_back(
        bounded("close of " + spot->name(), deadline, gone_before(std::move(done))));
    return;
  }
  if (!spot->is_empty()) return done(false);
  if (auto error = quiet_time("close of " + spot->name())) return done(fail(*std::move(error)));
  waiting_spots_[spot.get()].push_back(
      bounded("close of " + spot->name(), deadline, std::move(done)));
  begin_close(spot, ClosingReason::Requested, deadline);
}

void Destructions::close_if_empty(SpotCell& spot) {
  if (!spot.closes_when_empty || spot.state != CellState::Ready || !spot.is_empty()) return;
  waiting_spots_[&spot];
  begin_close(Ref<SpotCell>(&spot), ClosingReason::Empty, next_deadline());
}

// Once its own handlers have ended, those that have yielded too; no other starts until `done` has
// had its say.
void Destructions::run_closing(SpotCell& spot, ClosingReason reason, Instant deadline,
                               std::function<void()> done) {
  spot.stand_still([this, kept = Ref<SpotCell>(&spot), reason, deadline, done = std::move(done)] {
    push_callback(
        core_, kept->mailbox(), {.what = "on_closing", .spot = kept.get()},
        [kept, reason, deadline] {
          return SpotCallbacks::closing(*kept->object(), reason, deadline);
        },
        [kept, done](const std::optional<Error>&) {
          done();
          kept->go_on();
        });
  });
}

void Destructions::begin_close(const Ref<SpotCell>& spot, ClosingReason reason, Instant deadline) {
  spot->state = CellState::Ending;
  core_.emit("spot.closing", spot->id().text(), {{"reason", std::string(to_string(reason))}});
  run_closing(*spot, reason, deadline, [this, spot, deadline] {
    core_.subscriptions->end(*spot);
    spot->timers().close();
    spot->mailbox().close(Error::unavailable(spot->name() + " has been closed"));
    remove_record(spot, deadline);
  });
}

void Destructions::remove_record(const Ref<SpotCell>& spot, Instant deadline) {
  spot->is_record_going = true;
  location::RemoveRequest request{.what = "close of " + spot->name(),
                                  .key = location::keys::spot(spot->id()),
                                  .generation = spot->generation(),
                                  .version = spot->authority->version,
                                  .deadline = deadline};
  const std::string key = request.key;
  core_.reassertions->forget(key, [this, spot, request = std::move(request)]() mutable {
    core_.operations->remove(
        std::move(request),
        [this, spot](const Error& error) { tell(waiting_spots_, *spot, error); },
        [this, spot](const location::RemoveOutcome& outcome) { on_removed(spot, outcome); });
  });
}

void Destructions::on_removed(const Ref<SpotCell>& spot, const location::RemoveOutcome& outcome) {
  if (is_over(outcome) && spot->state != CellState::Gone) {
    spot->state = CellState::Gone;
    core_.registry->remove(*spot);
    core_.lease->holdings().remove(location::keys::spot(spot->id()), spot->generation());
    core_.capacity->free_spot(spot->mesh(), spot->type());
    core_.emit("spot.closed", spot->id().text());
  }
  answer(waiting_spots_, *spot, answer_to(outcome));
}

}  // namespace spotmesh::objects
