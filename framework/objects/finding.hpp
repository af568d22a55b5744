// Finding: where objects are now, for find() and find_spot().
#pragma once

#include <functional>
#include <optional>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::objects {

class Core;

// Strand only. Nothing when the object is not Ready at an owner that is known to live; changes
// nothing, here or in the store.
void find_actor(Core& core, const ActorId& id, Instant deadline,
                std::function<void(Result<std::optional<ActorRef>>)> done);
void find_spot(Core& core, const SpotId& id, Instant deadline,
               std::function<void(Result<std::optional<SpotRef>>)> done);
void find_spot_of_actor(Core& core, const ActorId& id, Instant deadline,
                        std::function<void(Result<std::optional<SpotRef>>)> done);

}  // namespace spotmesh::objects
