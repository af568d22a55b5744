#include <spotmesh/actor.hpp>

namespace spotmesh {

Task<void> Actor::on_join_completed(const JoinCompletion&) { co_return; }

}  // namespace spotmesh
