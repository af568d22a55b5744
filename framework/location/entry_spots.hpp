// The ids of Entry Spots, which follow from the run that has them: nobody ever looks a dead run's
// Entry Spot up, so whoever sweeps that run away must know where its record is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/ids.hpp>

namespace spotmesh::location {

// Of one run, one in each of its meshes; any further ones have ids that follow from nothing.
inline constexpr std::size_t most_entry_spots = 256;

// "<prefix>-entry-<UUID>" of the run "<prefix>-<UUID>", less the two hexadecimal digits that number
// its Entry Spots; nothing when that is not how the run is named.
std::optional<std::string> entry_spot_stem(std::string_view run);
// Nothing also when there are too many.
std::optional<SpotId> entry_spot_id(std::string_view run, std::size_t number);

}  // namespace spotmesh::location
