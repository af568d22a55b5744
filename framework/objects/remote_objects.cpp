#include "objects/remote_objects.hpp"

#include <fmt/format.h>

namespace spotmesh::objects {

Result<void> NoRemoteObjects::submit(const RemoteOwner& owner, const RemoteTarget& target,
                                     const Message&, std::optional<Instant>,
                                     std::function<void(Result<Message>)>) {
  return fail(unreachable(owner, target));
}

Error NoRemoteObjects::unreachable(const RemoteOwner& owner, const RemoteTarget& target) const {
  return Error::unavailable(
      fmt::format("{} '{}' lives on node {} of mesh '{}', and this node has no mesh link to it",
                  target.is_actor ? "Actor" : "Spot", target.id, owner.node.text, owner.mesh));
}

}  // namespace spotmesh::objects
