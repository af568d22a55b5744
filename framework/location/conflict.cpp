#include "location/conflict.hpp"

#include "location/keys.hpp"

namespace spotmesh::location {

ConflictCause cause_of(std::string_view failed_key, const LeaseView& lease) {
  if (failed_key.empty()) return ConflictCause::Epoch;
  const bool is_lease = lease.stamp && failed_key == keys::lease(lease.stamp->owner);
  return is_lease ? ConflictCause::Lease : ConflictCause::Record;
}

std::string_view describe(ConflictCause cause) {
  switch (cause) {
    case ConflictCause::Epoch:
      return "the Location Store has a new epoch";
    case ConflictCause::Lease:
      return "this node's lease is in doubt";
    case ConflictCause::Record:
      return "a record has changed";
  }
  return "unknown";
}

}  // namespace spotmesh::location
