// SimCaller: somebody on a simulated node who calls without being an object or a client.
#pragma once

#include <functional>
#include <memory>

#include <spotmesh/context.hpp>
#include <spotmesh/task.hpp>

namespace spotmesh::testing {

class CallerEnd;

// Made by Cluster::caller(). It has a gate of its own, as a session has, and its calls are those of
// a session: they belong to no mesh and no object. For tests of nodes without clients, and of what
// one node asks of another. Copies are the same caller. Not thread-safe.
class SimCaller {
 public:
  explicit SimCaller(std::shared_ptr<CallerEnd> end);

  // `call` runs once, on a turn of its own; one after the other, in this order. It and what it
  // returns live until the turn has ended, or the process has: then the coroutine is destroyed
  // where it waits, and what has not begun never does. An exception that leaves it ends the test's
  // process. Nothing happens when is_gone(), or behind limits::mailbox_application_jobs others.
  void run(std::function<Task<void>(Context&)> call);
  // Calls that have not ended.
  std::size_t unfinished() const;
  // The process of its node has ended.
  bool is_gone() const;

 private:
  std::shared_ptr<CallerEnd> end_;
};

}  // namespace spotmesh::testing
