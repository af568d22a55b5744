// run_on_worker: a function call off the turn, whose result a turn awaits.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <spotmesh/error.hpp>

#include "runtime/completion.hpp"
#include "runtime/workers.hpp"

namespace spotmesh::runtime {

namespace detail {

template <typename Function>
using WorkerResult = Result<std::invoke_result_t<Function&>>;

template <typename Function>
WorkerResult<Function> call_on_worker(Function& function) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Function&>>) {
      function();
      return {};
    } else {
      return function();
    }
  } catch (const std::exception& thrown) {
    return fail(Error::internal_failure(std::string("a worker call threw: ") + thrown.what()));
  } catch (...) {
    return fail(Error::internal_failure("a worker call threw something that is no std::exception"));
  }
}

}  // namespace detail

// Runs `function` on the pool; await the Completion with wait() or yield(). Its value is what the
// function returned, InternalFailure when it threw, CapacityExceeded (at once) when the pool's
// queue is full. The function, with what it has captured, ends on the worker thread; it must not
// touch what belongs to turns.
template <typename Function>
Ref<Completion<detail::WorkerResult<std::decay_t<Function>>>> run_on_worker(Workers& workers,
                                                                            Workers::Pool pool,
                                                                            Function&& function) {
  using Body = std::decay_t<Function>;
  auto completion = make_completion<detail::WorkerResult<Body>>();
  auto body = std::make_shared<Body>(std::forward<Function>(function));
  auto posted = workers.post(pool, [completion, body = std::move(body)]() mutable {
    auto result = detail::call_on_worker(*body);
    body.reset();
    completion->complete(std::move(result));
  });
  if (!posted) completion->complete(fail(posted.error()));
  return completion;
}

}  // namespace spotmesh::runtime
