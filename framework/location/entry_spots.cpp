#include "location/entry_spots.hpp"

#include <fmt/format.h>

namespace spotmesh::location {
namespace {

constexpr std::size_t uuid_size = 36;
constexpr std::size_t number_size = 2;

}  // namespace

std::optional<std::string> entry_spot_stem(std::string_view run) {
  if (run.size() <= uuid_size) return std::nullopt;
  const std::string_view prefix = run.substr(0, run.size() - uuid_size);
  if (!prefix.ends_with('-')) return std::nullopt;
  const std::string_view uuid = run.substr(prefix.size(), uuid_size - number_size);
  return fmt::format("{}entry-{}", prefix, uuid);
}

std::optional<SpotId> entry_spot_id(std::string_view run, std::size_t number) {
  const auto stem = entry_spot_stem(run);
  if (!stem || number >= most_entry_spots) return std::nullopt;
  auto id = SpotId::parse(fmt::format("{}{:02x}", *stem, number));
  return id ? std::optional(*std::move(id)) : std::nullopt;
}

}  // namespace spotmesh::location
