// Everything that the owner of an Actor knows of it, for whoever wants to know why it is stuck.
#pragma once

#include <functional>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "host/event_ring.hpp"
#include "objects/core.hpp"

namespace spotmesh::host {

// Any thread. `done` is called once, on the strand, with a value of JSON, unless the node ends
// before. NotFound: it does not live on this node.
void report_actor(objects::Core& core, const EventRing& events, const ActorId& id,
                  std::function<void(Result<std::string>)> done);

}  // namespace spotmesh::host
