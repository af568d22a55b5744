// What a refused commit of this owner means.
#pragma once

#include <cstdint>
#include <string_view>

#include "location/lease_view.hpp"

namespace spotmesh::location {

// Only a Record conflict says anything of an object; the other two speak of whoever wrote. Nothing
// may be concluded of the object then, before its record has been read again.
enum class ConflictCause : std::uint8_t {
  Epoch,  // the store has forgotten since the commit was prepared
  Lease,  // this node's lease was fenced, or written anew, since the commit was prepared
  Record  // another record is not what the commit was prepared for
};

// `failed_key` as in CommitResult.
ConflictCause cause_of(std::string_view failed_key, const LeaseView& lease);

// Why nothing was written, for people; of Epoch and Lease.
std::string_view describe(ConflictCause cause);

}  // namespace spotmesh::location
