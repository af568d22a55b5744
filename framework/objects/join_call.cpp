#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/join.hpp>
#include <spotmesh/limits.hpp>

#include "base/random.hpp"
#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/spot_cell.hpp"
#include "objects/turn_scope.hpp"

namespace spotmesh {
namespace {

constexpr std::int64_t most_timeout_milliseconds = 0x7fff'ffff;

Duration rounded_up(Duration timeout) {
  constexpr Duration millisecond = std::chrono::milliseconds(1);
  return (timeout + millisecond - Duration(1)) / millisecond * millisecond;
}

void check_timeout(Duration timeout) {
  if (timeout > Duration::zero() &&
      timeout <= std::chrono::milliseconds(most_timeout_milliseconds)) {
    return;
  }
  throw ConfigurationError(
      fmt::format("the timeout of a Join must lie between 1 and {} ms", most_timeout_milliseconds));
}

void check_limits(const objects::ObjectScope& scope, const Message& request) {
  const std::size_t bytes = request.payload().size();
  if (bytes > limits::join_request_bytes) {
    throw ConfigurationError(fmt::format("the request of a Join has {} bytes; {} are allowed",
                                         bytes, limits::join_request_bytes));
  }
  if (scope.joins().size() >= limits::joins_per_handler) {
    throw ConfigurationError(
        fmt::format("one handler registers at most {} Joins", limits::joins_per_handler));
  }
  if (scope.join_bytes() + bytes > limits::join_requests_per_handler_bytes) {
    throw ConfigurationError(
        fmt::format("the requests of all Joins of one handler have at most {} bytes together",
                    limits::join_requests_per_handler_bytes));
  }
}

// The Actor whose handler this is, or a member of the Spot whose handler or member this is.
bool is_local_member(const objects::ObjectScope& scope, const objects::ActorCell& actor) {
  if (scope.actor() == &actor) return true;
  return scope.spot() != nullptr && actor.spot().get() == scope.spot();
}

}  // namespace

OperationId operation_id_of(const JoinCompletion& completion) {
  return std::visit([](const auto& end) { return end.operation_id; }, completion);
}

JoinCall& JoinCall::timeout(Duration timeout) & {
  check_timeout(timeout);
  is_timeout_set_twice_ = is_timeout_set_twice_ || timeout_.has_value();
  timeout_ = rounded_up(timeout);
  return *this;
}

JoinCall&& JoinCall::timeout(Duration duration) && { return std::move(timeout(duration)); }

Result<OperationId> JoinCall::defer() {
  const std::string what = "defer() of a Join of " + actor_->name();
  if (is_deferred_)
    return fail(Error::invalid_operation(what + ": this call was deferred already"));
  if (is_timeout_set_twice_) {
    return fail(Error::invalid_operation(what + ": the option 'timeout' is set twice"));
  }
  objects::ObjectScope* scope = objects::ObjectScope::current();
  if (scope == nullptr || scope->kind() != objects::ObjectScope::Kind::Handler) {
    return fail(Error::invalid_operation(fmt::format(
        "{}: only message and timer handlers can register a Join, while they run{}", what,
        scope == nullptr ? std::string() : fmt::format("; this is {}", scope->what()))));
  }
  if (!is_local_member(*scope, *actor_)) {
    return fail(Error::invalid_operation(what + ": it is no member of this handler's Spot"));
  }
  std::optional<SpotId> spot;
  if (spot_id_.has_value()) {
    auto parsed = SpotId::parse(*spot_id_);
    if (!parsed) return fail(parsed.error());
    spot = *std::move(parsed);
  }
  check_limits(*scope, request_);
  if (!actor_->begin_transition()) {
    return fail(Error::unavailable(what + ": another change of its membership is pending"));
  }
  is_deferred_ = true;
  actor_->mailbox().hold();
  const OperationId operation = random_id<OperationId>(actor_->core().seams.random);
  scope->add_join({.operation = operation,
                   .actor = runtime::Ref<objects::ActorCell>(actor_),
                   .spot = std::move(spot),
                   .request = std::move(request_),
                   .deadline = runtime::Turn::current()->now() +
                               timeout_.value_or(limits::default_operation_timeout)});
  return operation;
}

}  // namespace spotmesh
