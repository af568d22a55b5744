// SpotCell: everything of one Spot's activation on this node.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spotmesh/context.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/spot.hpp>

#include "location/authority.hpp"
#include "objects/actor_cell.hpp"
#include "objects/caller.hpp"
#include "objects/claims.hpp"
#include "objects/frozen_application.hpp"
#include "objects/held_authority.hpp"
#include "objects/object_state.hpp"
#include "objects/object_timers.hpp"
#include "runtime/gate.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class Core;
class LiveGates;

// The typed callbacks of a Spot, called by the runtime.
class SpotCallbacks {
 public:
  static bool accepts_class_of(const Spot& spot, const Actor& actor) {
    return spot.accepts_class_of(actor);
  }
  static Task<CreateDecision> create(Spot& spot, const Message& request) {
    return spot.create(request);
  }
  static Task<CreateDecision> create_actor(Spot& spot, Actor& actor, const Message& request) {
    return spot.create_actor(actor, request);
  }
  static Task<JoinDecision> actor_join(Spot& spot, std::string_view id, const Message& request) {
    return spot.actor_join(id, request);
  }
  static Task<void> joined_actor(Spot& spot, Actor& actor) { return spot.joined_actor(actor); }
  static Task<void> leave_actor(Spot& spot, Actor& actor) { return spot.leave_actor(actor); }
  static Task<void> disconnect_actor(Spot& spot, Actor& actor) {
    return spot.disconnect_actor(actor);
  }
  static Task<void> closing(Spot& spot, ClosingReason reason, Instant deadline) {
    return spot.closing(reason, deadline);
  }
};

class SpotCell final : public runtime::RefCounted {
 public:
  SpotCell(Core& core, const MeshTypes& mesh, const SpotType& type, SpotId id,
           ObjectGeneration generation, location::ObjectKind kind);

  Core& core() const { return core_; }
  const SpotId& id() const { return id_; }
  ObjectGeneration generation() const { return generation_; }
  const MeshTypes& mesh() const { return mesh_; }
  const SpotType& type() const { return type_; }
  bool is_entry_spot() const { return kind_ == location::ObjectKind::EntrySpot; }
  location::ObjectKind kind() const { return kind_; }
  bool shares_gate() const { return type_.model->shares_gate_with_members; }
  SpotRef ref() const;
  // "Spot 'x'", for messages.
  std::string name() const;

  runtime::Mailbox& mailbox() { return mailbox_; }
  runtime::Gate& gate() const { return *gate_; }
  ObjectTimers& timers() { return timers_; }
  SpotContext& context() { return context_; }
  const Caller& caller() const { return caller_; }

  // The game's object: null until the factory has made it.
  Spot* object() const { return object_.get(); }
  // As ActorCell::adopt.
  Result<void> adopt(std::unique_ptr<Spot> product);

  // The members of a SpotWide Spot, touched on its gate alone, in the order of their joining.
  void add_member(runtime::Ref<ActorCell> actor);
  void remove_member(const ActorCell& actor);
  // No turn of its gate runs any more.
  void drop_members() { members_.clear(); }
  // Without those whose former Spot has not finished with them yet, but for the one that the
  // present turn was given.
  std::vector<Actor*> usable_members() const;
  const std::vector<runtime::Ref<ActorCell>>& members() const { return members_; }
  bool is_own_turn() const;

  // Ready members, and Joins and departures under way; counted on the strand, read anywhere.
  std::atomic<std::size_t> member_count{0};

  // `then` is posted to the strand when the Spot's own handlers and ticks have ended, those that
  // yielded included; until go_on() no other starts, but callbacks do. Strand only.
  void stand_still(std::function<void()> then);
  void go_on();
  // Stepped down from: who waits to stand still lets go of what he keeps.
  void give_up_claims() { claims_.give_up(); }
  // The node ends: who waits to stand still lets go of what he keeps.
  void drop_claims();

  // The rest belongs to the strand.
  CellState state = CellState::Creating;
  std::optional<location::VersionedAuthority> authority;  // as the store has it; of a Ready Spot
  AuthorityParts member_authority;                        // what its members' have alike
  bool is_record_going = false;  // the end of the record has begun: it is not asserted again
  std::size_t transitions = 0;   // Joins and departures that have not ended
  bool closes_when_empty = false;
  bool is_empty() const { return member_count.load() == 0 && transitions == 0; }

 private:
  class OwnCaller final : public Caller {
   public:
    explicit OwnCaller(SpotCell& cell) : Caller(cell.core_, cell.mesh_.name), cell_(cell) {}

   private:
    Logger make_logger() const override;
    SpotCell& cell_;
  };

  ~SpotCell() override;

  Core& core_;
  const MeshTypes& mesh_;
  const SpotType& type_;
  const SpotId id_;
  const ObjectGeneration generation_;
  const location::ObjectKind kind_;
  runtime::Ref<runtime::Gate> gate_;
  const std::shared_ptr<LiveGates> gates_;
  runtime::Mailbox mailbox_;
  Claims claims_;
  OwnCaller caller_;
  ObjectTimers timers_;
  SpotContext context_;
  std::unique_ptr<Spot> object_;
  std::vector<runtime::Ref<ActorCell>> members_;
};

}  // namespace spotmesh::objects
