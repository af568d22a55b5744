#include "testing/checkers/sound_records.hpp"

#include <optional>

#include <fmt/format.h>

#include "location/keys.hpp"
#include "location/records.hpp"

namespace spotmesh::testing {
namespace {

namespace keys = location::keys;

template <typename T>
std::optional<Error> error_of(const Result<T>& decoded) {
  return decoded ? std::nullopt : std::optional(decoded.error());
}

std::optional<Error> fault_of(const std::string& key, ByteView value) {
  if (key.starts_with(keys::actor_prefix) || key.starts_with(keys::spot_prefix)) {
    return error_of(location::decode_authority(key, value));
  }
  if (key.starts_with(keys::node_prefix)) return error_of(location::decode_node(key, value));
  if (key.starts_with(keys::lease_prefix)) return error_of(location::decode_lease(key, value));
  if (key.starts_with(keys::beat_prefix)) return error_of(location::decode_beat(key, value));
  if (key == keys::lease_counter()) return error_of(location::decode_lease_counter(key, value));
  return std::nullopt;
}

}  // namespace

void SoundRecordsChecker::on_commit(const SimStore&, std::string_view client,
                                    const location::Commit& commit, Instant) {
  for (const location::Write& write : commit.writes) {
    if (!write.value) continue;
    if (const auto fault = fault_of(write.key, *write.value)) {
      complain(fmt::format("{} writes {}", client, to_string(*fault)));
    }
  }
}

}  // namespace spotmesh::testing
