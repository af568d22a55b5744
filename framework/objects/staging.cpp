#include "objects/staging.hpp"

#include <utility>

#include "location/keys.hpp"
#include "objects/actor_cell.hpp"
#include "objects/callback_job.hpp"
#include "objects/capacity.hpp"
#include "objects/checkpoints.hpp"
#include "objects/core.hpp"
#include "objects/lease_driver.hpp"
#include "objects/membership.hpp"
#include "objects/reassertions.hpp"
#include "objects/registry.hpp"
#include "objects/router.hpp"
#include "objects/spot_cell.hpp"
#include "objects/subscriptions.hpp"

namespace spotmesh::objects {
namespace {

using runtime::Ref;

// What turns have found out, handed to the strand by the end of the callback that wrote it.
struct Findings {
  std::optional<Error> error;
  std::optional<CreateDecision> decision;

  Staging::Outcome take(std::optional<Error> callback_error) {
    if (callback_error.has_value()) return fail(*std::move(callback_error));
    if (error.has_value()) return fail(*std::move(error));
    return *std::exchange(decision, std::nullopt);
  }
};

class ActorStaging final : public Staging, public std::enable_shared_from_this<ActorStaging> {
 public:
  ActorStaging(Core& core, const MeshTypes& mesh, const ActorType& type, ActorId id,
               ObjectGeneration generation)
      : core_(core),
        entry_(core.entry_spot(mesh)),
        cell_(runtime::make_ref<ActorCell>(core, mesh, type, std::move(id), generation)) {}

  void run(Message request, Decided decided) override {
    request_ = std::move(request);
    decided_ = std::move(decided);
    if (cell_->type().model->checkpoint_adapter == nullptr) return run_factory();
    // The id is reserved: nobody else's checkpoint can come after what is read now.
    core_.checkpoints->read(cell_->id(), cell_->type(),
                            [self = shared_from_this()](Result<RestoredState> restored) {
                              self->on_restored(std::move(restored));
                            });
  }

  location::create::Accepted acceptance() const override {
    return {.membership = membership_in(*entry_),
            .spot = location::Condition{location::keys::spot(entry_->id()),
                                        entry_->authority->version}};
  }

  void expose(location::VersionedAuthority authority) override {
    cell_->authority.emplace(std::move(authority), entry_->member_authority);
    cell_->state = CellState::Ready;
    cell_->set_spot(entry_);
    entry_->member_count.fetch_add(1);
    core_.capacity->activate_actor(cell_->mesh());
    core_.router->arrives(TargetKind::Actor, cell_->id().text());
    core_.registry->add(cell_);
    cell_->timers().start_declared();
    core_.emit("actor.created", cell_->id().text(),
               {{"type", cell_->type().name.text()},
                {"generation", std::to_string(cell_->generation().value)}});
    core_.checkpoints->begin(cell_, std::move(restored_));
    core_.reassertions->exposed(cell_);
  }

  void discard() override {
    decided_ = nullptr;
    cell_->state = CellState::Gone;
    cell_->timers().close();
    cell_->mailbox().close(Error::unavailable(cell_->name() + " was not created"));
  }

 private:
  void on_restored(Result<RestoredState> restored) {
    if (decided_ == nullptr) return;
    if (!restored) return std::exchange(decided_, nullptr)(fail(std::move(restored.error())));
    restored_ = *std::move(restored);
    run_factory();
  }

  void run_factory() {
    push_callback(
        core_, cell_->mailbox(), {.what = "the factory", .actor = cell_.get()},
        [self = shared_from_this()] { return make(self); },
        [self = shared_from_this()](std::optional<Error> error) {
          self->on_made(std::move(error));
        });
  }

  static Task<void> make(std::shared_ptr<ActorStaging> self) {
    ActorCell& cell = *self->cell_;
    std::unique_ptr<Actor> product = co_await cell.type().model->factory(cell.context());
    auto adopted = cell.adopt(std::move(product), *self->entry_);
    if (!adopted) {
      self->findings_.error = adopted.error();
      co_return;
    }
    cell.object()->configure();
    if (!self->restored_.state.has_value()) co_return;
    co_await cell.type().model->checkpoint_adapter->restore(*cell.object(), *self->restored_.state);
  }

  void on_made(std::optional<Error> error) {
    if (decided_ == nullptr) return;
    if (!error.has_value()) error = std::exchange(findings_.error, std::nullopt);
    if (error.has_value()) return std::exchange(decided_, nullptr)(fail(*std::move(error)));
    push_callback(
        core_, entry_->mailbox(),
        {.what = "on_create_actor", .actor = cell_.get(), .spot = entry_.get()},
        [self = shared_from_this()] { return decide(self); },
        [self = shared_from_this()](std::optional<Error> failure) {
          if (self->decided_ == nullptr) return;
          std::exchange(self->decided_, nullptr)(self->findings_.take(std::move(failure)));
        });
  }

  static Task<void> decide(std::shared_ptr<ActorStaging> self) {
    self->findings_.decision = co_await SpotCallbacks::create_actor(
        *self->entry_->object(), *self->cell_->object(), self->request_);
  }

  Core& core_;
  const Ref<SpotCell> entry_;
  const Ref<ActorCell> cell_;
  Message request_;
  Decided decided_;
  Findings findings_;
  RestoredState restored_;
};

class SpotStaging final : public Staging, public std::enable_shared_from_this<SpotStaging> {
 public:
  SpotStaging(Core& core, const MeshTypes& mesh, const SpotType& type, SpotId id,
              ObjectGeneration generation)
      : core_(core),
        cell_(runtime::make_ref<SpotCell>(core, mesh, type, std::move(id), generation,
                                          location::ObjectKind::UserSpot)) {}

  void run(Message request, Decided decided) override {
    request_ = std::move(request);
    decided_ = std::move(decided);
    push_callback(
        core_, cell_->mailbox(), {.what = "on_create", .spot = cell_.get()},
        [self = shared_from_this()] { return make(self); },
        [self = shared_from_this()](std::optional<Error> error) {
          if (self->decided_ != nullptr) self->on_made(self->findings_.take(std::move(error)));
        });
  }

  location::create::Accepted acceptance() const override { return {}; }

  void expose(location::VersionedAuthority authority) override {
    cell_->authority = std::move(authority);
    cell_->state = CellState::Ready;
    core_.capacity->activate_spot(cell_->mesh(), cell_->type());
    core_.router->arrives(TargetKind::Spot, cell_->id().text());
    core_.registry->add(cell_);
    core_.subscriptions->begin(*cell_);
    cell_->timers().start_declared();
    core_.emit(
        "spot.created", cell_->id().text(),
        {{"type", cell_->type().name}, {"generation", std::to_string(cell_->generation().value)}});
    core_.reassertions->exposed(cell_);
  }

  void discard() override {
    decided_ = nullptr;
    core_.subscriptions->end(*cell_);
    cell_->state = CellState::Gone;
    cell_->timers().close();
    cell_->mailbox().close(Error::unavailable(cell_->name() + " was not created"));
  }

 private:
  static Task<void> make(std::shared_ptr<SpotStaging> self) {
    SpotCell& cell = *self->cell_;
    auto adopted = cell.adopt(cell.type().model->factory(cell.context()));
    if (!adopted) {
      self->findings_.error = adopted.error();
      co_return;
    }
    cell.object()->configure();
    self->findings_.decision = co_await SpotCallbacks::create(*cell.object(), self->request_);
  }

  // What is published once the Spot can be found is to reach it.
  void on_made(Outcome outcome) {
    if (!outcome || !outcome->is_accepted()) {
      return std::exchange(decided_, nullptr)(std::move(outcome));
    }
    core_.subscriptions->announce(*cell_, [self = shared_from_this(), outcome] {
      if (self->decided_ != nullptr) std::exchange(self->decided_, nullptr)(outcome);
    });
  }

  Core& core_;
  const Ref<SpotCell> cell_;
  Message request_;
  Decided decided_;
  Findings findings_;
};

}  // namespace

std::shared_ptr<Staging> Staging::of_actor(Core& core, const MeshTypes& mesh, const ActorType& type,
                                           const std::string& id, ObjectGeneration generation) {
  return std::make_shared<ActorStaging>(core, mesh, type, *ActorId::parse(id), generation);
}

std::shared_ptr<Staging> Staging::of_spot(Core& core, const MeshTypes& mesh, const SpotType& type,
                                          const std::string& id, ObjectGeneration generation) {
  return std::make_shared<SpotStaging>(core, mesh, type, *SpotId::parse(id), generation);
}

}  // namespace spotmesh::objects
