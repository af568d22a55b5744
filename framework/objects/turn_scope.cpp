#include "objects/turn_scope.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/destructions.hpp"
#include "objects/joins.hpp"
#include "wire/text.hpp"

namespace spotmesh::objects {

ObjectScope* ObjectScope::current() {
  const runtime::Turn* turn = runtime::Turn::current();
  return turn == nullptr ? nullptr : dynamic_cast<ObjectScope*>(turn->scope());
}

void ObjectScope::add_join(DeferredJoin join) {
  join_bytes_ += join.request.payload().size();
  joins_.push_back(std::move(join));
}

bool ObjectScope::has_barrier_on(const ActorCell& actor) const {
  return std::ranges::any_of(joins_,
                             [&](const DeferredJoin& join) { return join.actor.get() == &actor; });
}

void ObjectScope::end(bool is_normal) {
  for (DeferredJoin& join : joins_) {
    ActorCell& actor = *join.actor;
    if (is_normal) {
      actor.core().joins->start(std::move(join));
    } else {
      actor.end_transition();
      actor.mailbox().release_hold();
      actor.core().strand.post(
          [held = join.actor] { held->core().destructions->after_transition(*held); });
    }
  }
  joins_.clear();
  if (is_normal) {
    for (const auto& job : after_turn_) job();
  }
  after_turn_.clear();
}

Error error_of(std::exception_ptr failure, std::string_view what) {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (const std::exception& thrown) {
    return Error::internal_failure(
        fmt::format("{} threw: {}", what, wire::as_utf8(thrown.what(), limits::peer_error_bytes)));
  } catch (...) {
    return Error::internal_failure(
        fmt::format("{} threw something that is no std::exception", what));
  }
}

}  // namespace spotmesh::objects
