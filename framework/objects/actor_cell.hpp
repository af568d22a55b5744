// ActorCell: everything of one Actor's activation on this node.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/actor.hpp>
#include <spotmesh/context.hpp>
#include <spotmesh/ids.hpp>

#include "base/small_mutex.hpp"
#include "objects/caller.hpp"
#include "objects/claims.hpp"
#include "objects/frozen_application.hpp"
#include "objects/held_authority.hpp"
#include "objects/object_state.hpp"
#include "objects/object_timers.hpp"
#include "objects/session_routes.hpp"
#include "runtime/gate.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class Core;
class LiveGates;
class SpotCell;

class ActorCell final : public runtime::RefCounted {
 public:
  ActorCell(Core& core, const MeshTypes& mesh, const ActorType& type, ActorId id,
            ObjectGeneration generation);

  // The activation that an object belongs to.
  static ActorCell& of(const Actor& actor) { return actor.context().cell_; }

  Core& core() const { return core_; }
  const ActorId& id() const { return id_; }
  ObjectGeneration generation() const { return generation_; }
  const MeshTypes& mesh() const { return mesh_; }
  const ActorType& type() const { return type_; }
  ActorRef ref() const;
  // "Actor 'x'", for messages.
  std::string name() const;

  runtime::Mailbox& mailbox() { return mailbox_; }
  // The gate it runs on while its Spot shares none.
  runtime::Gate& own_gate() const { return *own_gate_; }
  ObjectTimers& timers() { return timers_; }
  ActorContext& context() { return context_; }
  const Caller& caller() const { return caller_; }

  // The game's object: null until the factory has made it. On the Actor's turns, or under its
  // claim.
  Actor* object() const { return object_.get(); }
  void set_object(std::unique_ptr<Actor> object) { object_ = std::move(object); }
  // The factory's product if it shows the context it was given, is of a class the Entry Spot takes,
  // and is there at all; an InternalFailure that says what is wrong otherwise.
  Result<void> adopt(std::unique_ptr<Actor> product, const SpotCell& entry_spot);

  // The Spot that contains it; null while it is being created. Any thread; changed by the strand
  // under the Actor's claim.
  runtime::Ref<SpotCell> spot() const;
  // The same on a turn of this Actor: nothing changes it meanwhile, and it stays.
  SpotCell* spot_in_turn() const { return spot_.get(); }
  void set_spot(runtime::Ref<SpotCell> spot);

  // Any thread.
  std::optional<BindingIdentity> binding() const;
  // The binding that was there before.
  std::optional<BindingIdentity> set_binding(const std::optional<BindingIdentity>& binding);
  // Whether it was the present one and is now gone.
  bool clear_binding(const BindingIdentity& binding);
  bool is_bound_to(const BindingIdentity& binding) const;

  // Whether a Join or the end of this Actor is pending: from defer() to its completion. The first
  // caller gets true.
  bool begin_transition() { return !is_in_transition_.exchange(true, std::memory_order_acq_rel); }
  void end_transition() { is_in_transition_.store(false, std::memory_order_release); }
  bool is_in_transition() const { return is_in_transition_.load(std::memory_order_acquire); }

  // From the switch to a new Spot until on_leave_actor of the former one has ended: the object may
  // be in use there.
  std::atomic<bool> is_leaving{false};

  // A callback that takes this Actor, and what ends it, claims it first. Strand only.
  using Claim = Claims::Claim;
  Claim* claim(std::function<void()> then) { return claims_.claim(std::move(then)); }
  bool withdraw(Claim* claim) { return claims_.withdraw(claim); }
  void release_claim() { claims_.release(); }
  // Stepped down from: claims that will not be granted any more let go of what they keep.
  void give_up_claims() { claims_.give_up(); }

  // The rest belongs to the strand.
  CellState state = CellState::Creating;
  std::optional<HeldAuthority> authority;  // as the store has it; of a Ready Actor
  bool is_record_going = false;     // the end of the record has begun: it is not asserted again
  bool is_to_be_destroyed = false;  // when no Join is pending any more
  // The node ends: claims that nobody will grant any more let go of what they keep.
  void drop_claims() { claims_.drop(); }

 private:
  class OwnCaller final : public Caller {
   public:
    explicit OwnCaller(ActorCell& cell) : Caller(cell.core_, cell.mesh_.name), cell_(cell) {}

   private:
    Logger make_logger() const override;
    ActorCell& cell_;
  };

  ~ActorCell() override;

  Core& core_;
  const MeshTypes& mesh_;
  const ActorType& type_;
  const ActorId id_;
  const ObjectGeneration generation_;
  runtime::Ref<runtime::Gate> own_gate_;
  const std::shared_ptr<LiveGates> gates_;
  runtime::Mailbox mailbox_;
  Claims claims_;
  OwnCaller caller_;
  ObjectTimers timers_;
  ActorContext context_;
  std::unique_ptr<Actor> object_;

  mutable SmallMutex mutex_;  // the next two
  runtime::Ref<SpotCell> spot_;
  std::unique_ptr<const BindingIdentity> binding_;  // null: none, as with most

  std::atomic<bool> is_in_transition_{false};
};

}  // namespace spotmesh::objects
