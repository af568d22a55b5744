#include "host/duration_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace spotmesh::host {

std::string format_duration(std::chrono::milliseconds value) {
  const std::int64_t count = value.count();
  if (count != 0 && count % 3'600'000 == 0) return fmt::format("{}h", count / 3'600'000);
  if (count != 0 && count % 60'000 == 0) return fmt::format("{}m", count / 60'000);
  if (count % 1000 == 0) return fmt::format("{}s", count / 1000);
  return fmt::format("{}ms", count);
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const std::size_t unit_at = text.find_first_not_of("0123456789");
  if (unit_at == 0 || unit_at == std::string_view::npos) return std::nullopt;
  std::int64_t count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + unit_at, count);
  const std::string_view unit = text.substr(unit_at);
  std::int64_t scale = 0;
  if (unit == "ms") scale = 1;
  if (unit == "s") scale = 1000;
  if (unit == "m") scale = 60'000;
  if (unit == "h") scale = 3'600'000;
  constexpr std::int64_t highest = std::int64_t{1} << 40;
  if (fault != std::errc() || scale == 0 || count > highest / scale) return std::nullopt;
  return std::chrono::milliseconds(count * scale);
}

}  // namespace spotmesh::host
