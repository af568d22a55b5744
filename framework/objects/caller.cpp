#include "objects/caller.hpp"

#include <fmt/format.h>

#include "objects/core.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::objects {

Result<runtime::Turn*> Caller::require_turn(std::string_view what) const {
  runtime::Turn* turn = runtime::Turn::current();
  if (turn == nullptr) {
    return fail(Error::invalid_operation(
        fmt::format("{} outside a turn: make calls in handlers and callbacks, and hand the results "
                    "of other work back to them",
                    what)));
  }
  if (core_.is_stopped()) return fail(core_.stopping_error());
  return turn;
}

bool Caller::may_call() const { return runtime::Turn::current() != nullptr && !core_.is_stopped(); }

}  // namespace spotmesh::objects
