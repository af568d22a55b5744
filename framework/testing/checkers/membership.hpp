// Membership: Actor, Spot and Location Store agree on who is where.
#pragma once

#include "testing/checkers/checker.hpp"

namespace spotmesh::objects {
class ActorCell;
class Core;
class SpotCell;
}  // namespace spotmesh::objects

namespace spotmesh::testing {

class MembershipChecker final : public Checker {
 public:
  explicit MembershipChecker(const CheckedRun& run) : Checker(run) {}
  std::string_view rule() const override { return "membership"; }
  void look_at_rest() override;

 private:
  void look_at(const LiveProcess& process);
  void check_actor(const LiveProcess& process, const objects::ActorCell& actor);
  void check_spot(const LiveProcess& process, const objects::Core& core,
                  const objects::SpotCell& spot);
};

}  // namespace spotmesh::testing
