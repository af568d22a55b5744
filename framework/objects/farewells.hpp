// Farewells: what a Spot that lives on hears of a member that its node steps down from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "objects/actor_cell.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class Core;
class SpotCell;

// A game keeps what belongs to its members from on_joined_actor to on_leave_actor, so the latter
// runs here, too: as a turn of the Spot, under the Actor's claim, and only when no turn of the
// Actor is left that could go on with what the Spot lets go of. Until then the Spot does not close,
// though the Actor is in none of its lists any more.
//
// Strand only.
class Farewells {
 public:
  explicit Farewells(Core& core) : core_(core) {}

  // Abandons the Actor's own gate; its Spot hears the rest, unless that is gone as well.
  void begin(const runtime::Ref<ActorCell>& actor);
  // The Spot hears nothing any more.
  void stepped_down(const SpotCell& spot);
  // Nothing runs any more: ends the circles of references between farewells and Actors.
  void let_go();
  std::size_t under_way() const { return farewells_.size(); }

 private:
  struct Farewell {
    runtime::Ref<ActorCell> actor;
    runtime::Ref<SpotCell> spot;
    ActorCell::Claim* claim = nullptr;  // that waits
  };

  void on_gate_cleared(std::uint64_t number);
  void say(std::uint64_t number);
  void end(std::uint64_t number);

  Core& core_;
  std::uint64_t begun_ = 0;
  std::map<std::uint64_t, Farewell> farewells_;  // in the order of their beginning
};

}  // namespace spotmesh::objects
