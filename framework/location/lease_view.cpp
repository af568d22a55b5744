#include "location/lease_view.hpp"

#include <fmt/format.h>

namespace spotmesh::location {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Result<void> validate(const LeaseConfig& config) {
  const Duration zero{0};
  if (config.renew_interval <= zero || config.ttl <= zero || config.renew_timeout <= zero ||
      config.margin <= zero) {
    return fail(Error::invalid_operation(
        fmt::format("every lease time must be positive: renew {} s, renew timeout {} s, TTL {} s, "
                    "margin {} s",
                    seconds(config.renew_interval), seconds(config.renew_timeout),
                    seconds(config.ttl), seconds(config.margin))));
  }
  if (config.renew_interval + config.renew_timeout >= config.admission_time()) {
    return fail(Error::invalid_operation(
        fmt::format("a lease must survive one failed renewal: renew {} s + renew timeout {} s must "
                    "be less than "
                    "TTL {} s - margin {} s",
                    seconds(config.renew_interval), seconds(config.renew_timeout),
                    seconds(config.ttl), seconds(config.margin))));
  }
  return {};
}

Result<ObjectGeneration> GenerationMint::mint() {
  constexpr std::uint64_t local_limit = std::uint64_t{1} << 32;
  if (lease_.value == 0 || lease_.value > max_lease_generation || next_local_ >= local_limit) {
    return fail(Error::internal_failure(
        fmt::format("generation exhausted: lease generation {}, local counter {}; a restart of "
                    "this node begins a new lease generation",
                    lease_.value, next_local_)));
  }
  return ObjectGeneration{(lease_.value << 32) | next_local_++};
}

}  // namespace spotmesh::location
