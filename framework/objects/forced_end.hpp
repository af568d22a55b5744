// The end of an Actor that an operator wants gone, whatever it is doing.
#pragma once

#include <functional>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::objects {

class Core;

// Unlike a destroy it waits for no turn. What waits for the Actor is refused with Unavailable; a
// turn that is suspended does not go on, and one that is executing says nothing any more. Its Spot
// hears on_leave_actor when no turn of it is left; a turn on the gate of a SpotWide room, which its
// members share, keeps the room until it would go on. Then the record goes, and the id is free.
//
// `done`, on the strand: NotFound when the Actor does not live on this node, Unavailable when its
// record cannot be removed by `deadline` (that goes on then).
//
// Strand only.
void end_by_force(Core& core, const ActorId& id, Instant deadline,
                  std::function<void(Result<void>)> done);

}  // namespace spotmesh::objects
