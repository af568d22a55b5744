#include "objects/timer_lane.hpp"

#include "objects/core.hpp"

namespace spotmesh::objects {

TimerLane::TimerLane(Core& core, runtime::RefCounted& spot, runtime::TimerOwner& owner,
                     std::string_view key)
    : key_(key),
      gate_(core.new_gate()),
      gates_(core.gates),
      mailbox_(spot, *gate_, core.config.mailbox),
      claims_(core, spot, mailbox_),
      timers_(core.seams.clock, core.seams.timers, mailbox_, owner) {
  gates_->add(*gate_);
}

TimerLane::~TimerLane() { gates_->remove(*gate_); }

}  // namespace spotmesh::objects
