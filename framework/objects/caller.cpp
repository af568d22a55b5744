#include "objects/caller.hpp"

#include <memory>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::objects {

Caller::~Caller() { delete logger_.load(std::memory_order_acquire); }

const Logger& Caller::logger() const {
  const Logger* made = logger_.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  auto own = std::make_unique<const Logger>(make_logger());
  if (logger_.compare_exchange_strong(made, own.get(), std::memory_order_acq_rel)) {
    return *own.release();
  }
  return *made;
}

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
