// Durations as people write them: "250ms", "30s", "5m", "2h".
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace spotmesh::host {

// In the largest unit that shows it whole.
std::string format_duration(std::chrono::milliseconds value);
// Digits and a unit, and nothing else.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace spotmesh::host
