// How a call of a context waits on its turn.
#pragma once

#include <functional>
#include <utility>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/task.hpp>

#include "objects/core.hpp"
#include "runtime/completion.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::objects {

// A Task that has its value already.
template <typename T>
Task<T> ready(T value) {
  co_return value;
}
template <typename T>
Task<Result<T>> failed(Error error) {
  return ready<Result<T>>(fail(std::move(error)));
}

template <typename T>
Task<T> wait_for(runtime::Ref<runtime::Completion<T>> completion, Waiting waiting) {
  if (waiting == Waiting::YieldGate) co_return co_await completion->yield();
  co_return co_await completion->wait();
}

// InvalidOperation unless the turn is a handler's on the gate of a SpotWide User Spot. `what` names
// the call.
Result<void> check_may_yield(const runtime::Turn& turn, std::string_view what);

// Runs `begin(done)` on the strand and gives what `done` is called with.
template <typename T>
Task<Result<T>> on_strand(Core& core, std::function<void(std::function<void(Result<T>)>)> begin,
                          Waiting waiting = Waiting::KeepTurn) {
  auto completion = runtime::make_completion<Result<T>>();
  core.strand.post([begin = std::move(begin), completion] {
    begin([completion](Result<T> outcome) { completion->complete(std::move(outcome)); });
  });
  return wait_for(std::move(completion), waiting);
}

}  // namespace spotmesh::objects
