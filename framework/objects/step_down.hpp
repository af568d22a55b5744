// Letting go of an object that this node may no longer call its own.
#pragma once

#include <spotmesh/error.hpp>

#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class ActorCell;
class SpotCell;

// It ends where it stands: whoever owns it now may be running it already, so no callback and no
// turn of it runs any more, and nothing is written. What waits in its mailbox is refused with
// `reason`, its timers, binding, slot and registry entry go. A Spot takes its members along; that
// of an Actor, if it lives on, hears that the Actor leaves (farewells.hpp). Strand only.
void step_down(const runtime::Ref<ActorCell>& actor, const Error& reason);
void step_down(const runtime::Ref<SpotCell>& spot, const Error& reason);

}  // namespace spotmesh::objects
