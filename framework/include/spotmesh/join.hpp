// The deferred Join: how an Actor changes its Spot, and how it learns the outcome.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::objects {
class ActorCell;
}

namespace spotmesh {

class ActorContext;

// The Actor is a member of the Spot it asked for. `actor` says where it now lives, `reply` is what
// on_actor_join accepted with (empty when it gave none, or when the Actor was there already).
struct JoinAccepted {
  OperationId operation_id;
  ActorRef actor;
  Message reply;
};
// on_actor_join said no; nothing has changed.
struct JoinRejected {
  OperationId operation_id;
  Message reply;
};
// The Join ended before its commit; nothing has changed. Kinds: NotFound (no such Spot),
// Unavailable (its node or the store is away), CapacityExceeded, Rejected (relocation disabled,
// Spot on another node), DeadlineExceeded, InternalFailure (a callback threw), InvalidOperation
// (the Spot was created anew meanwhile), ShuttingDown.
struct JoinFailed {
  OperationId operation_id;
  Error error;
};

// What on_join_completed is given, exactly one of the three.
using JoinCompletion = std::variant<JoinAccepted, JoinRejected, JoinFailed>;

// The id that defer() returned for this Join.
OperationId operation_id_of(const JoinCompletion& completion);

// A Join that has been described but not yet registered. There is no form that waits for it: the
// Join runs after the handler, and its outcome comes as on_join_completed.
class [[nodiscard]] JoinCall {
 public:
  // The whole Join's deadline, counted from defer(); default 5 s, 1 ms to 2^31-1 ms, rounded up to
  // milliseconds. Anything else throws ConfigurationError. Set twice: defer() gives
  // InvalidOperation.
  JoinCall& timeout(Duration timeout) &;
  JoinCall&& timeout(Duration timeout) &&;

  // Registers the Join behind the handler that is running and returns its operation id at once. No
  // store access and no callback happens before the handler has ended normally; a throw, or a reply
  // that cannot be encoded, discards it. The request is fixed now.
  //
  // Allowed in send, request and timer handlers of Actors and of Entry and User Spots, for a local
  // member. InvalidOperation anywhere else (lifecycle callbacks, configure, factories, unmanaged
  // threads, after the handler has ended) and when called twice; Unavailable when another
  // transition of this Actor is pending. More than 64 Joins in one handler, a request above 1 MiB
  // or above 8 MiB together throw ConfigurationError and leave nothing.
  Result<OperationId> defer();

 private:
  friend class ActorContext;
  JoinCall(objects::ActorCell& actor, std::optional<std::string> spot_id, Message request)
      : actor_(&actor), spot_id_(std::move(spot_id)), request_(std::move(request)) {}

  objects::ActorCell* actor_;
  std::optional<std::string> spot_id_;  // empty: the Entry Spot
  Message request_;
  std::optional<Duration> timeout_;
  bool is_timeout_set_twice_ = false;
  bool is_deferred_ = false;
};

}  // namespace spotmesh
