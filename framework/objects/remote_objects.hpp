// RemoteObjects: where the mesh plugs in. What this node wants of an object that another one owns.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::objects {

// The owner of an object, as its authority record shows it.
struct RemoteOwner {
  NodeRid node;
  LifecycleId lifecycle;
  std::string mesh;
};

struct RemoteTarget {
  bool is_actor = true;
  std::string id;
  ObjectGeneration generation;
};

// Safe from any thread. A call that fails has not called and will not call `reply`.
class RemoteObjects {
 public:
  virtual ~RemoteObjects() = default;
  // Hands a message over to the owner's outbound queue, keeping the order of calls for one target.
  // With `reply`, which is then called exactly once, it is a request.
  virtual Result<void> submit(const RemoteOwner& owner, const RemoteTarget& target,
                              const Message& message, std::optional<Instant> deadline,
                              std::function<void(Result<Message>)> reply) = 0;
  // Why an operation on an object of that owner cannot be done from here, for control operations
  // (destroy, close, bind, Join) that have no remote form yet.
  virtual Error unreachable(const RemoteOwner& owner, const RemoteTarget& target) const = 0;
};

// A process without mesh links: every remote owner is Unavailable, and the error names it.
class NoRemoteObjects final : public RemoteObjects {
 public:
  Result<void> submit(const RemoteOwner& owner, const RemoteTarget& target, const Message& message,
                      std::optional<Instant> deadline,
                      std::function<void(Result<Message>)> reply) override;
  Error unreachable(const RemoteOwner& owner, const RemoteTarget& target) const override;
};

}  // namespace spotmesh::objects
