// When what a node says of its room is worth writing again: the others only choose by it, and each
// of them reads every descriptor that is written.
#pragma once

#include <optional>

#include <spotmesh/time.hpp>

#include "location/node_descriptor.hpp"

namespace spotmesh::location {

// At least so long after the last write: when the node has become full for something or is so no
// longer; when a count has changed by an eighth of its limit; when anything has changed.
inline constexpr Duration pace_of_full = std::chrono::seconds(1);
inline constexpr Duration pace_of_much = std::chrono::seconds(5);
inline constexpr Duration pace_of_any = std::chrono::seconds(30);

// How long after the last write `wanted` is to be written over `written`; nothing: they are the
// same. What is no hint (a state, an address, a weight) is written at once.
std::optional<Duration> hint_pace(const NodeDescriptor& written, const NodeDescriptor& wanted);

}  // namespace spotmesh::location
