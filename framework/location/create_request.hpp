// What is asked of a creation, and how one ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "location/authority.hpp"
#include "location/records.hpp"

namespace spotmesh::location {

struct CreateRequest {
  ObjectKey object;
  ObjectKind kind = ObjectKind::Actor;
  StableType stable_type;
  bool is_get_or_create = false;
  OperationKey operation;     // the same through all resends
  ReservationId reservation;  // new for each machine
  std::string mesh;
  Instant deadline;  // fixed at submit; spans everything
  WallTime wall_now;
  WallTime keep_terminal_until;  // five minutes after the deadline
  // Who asked is here: it is made where ChoosePlace says. Otherwise here, or nowhere.
  bool chooses_place = false;
};

// Whether a resend of a creation that failed so is to get the same answer. What only this node or
// this moment could not do is tried again.
inline bool is_terminal(const Error& error) {
  return error.kind() != ErrorKind::Unavailable && error.kind() != ErrorKind::ShuttingDown;
}

struct CreateOutcome {
  enum class Kind : std::uint8_t { Created, Existing, Rejected, Failed };
  Kind kind = Kind::Failed;
  std::optional<VersionedAuthority> authority;  // of Created and Existing
  std::optional<OwnerStamp> owner;              // of Created and Existing: the owner in effect
  std::optional<StoredReply> reply;             // of Created and Rejected
  std::optional<Error> error;                   // of Failed
  // The terminal of an earlier attempt of the same operation; nothing ran now. A Created that is
  // replayed tells the incarnation made then; `authority` is empty when it lives no more.
  bool is_replay = false;
  ObjectGeneration object_generation;  // of Created and Existing
};

}  // namespace spotmesh::location
