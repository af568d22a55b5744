// TaskDriver: how the runtime runs a Task from outside a coroutine.
#pragma once

#include <coroutine>
#include <exception>

#include <spotmesh/task.hpp>

namespace spotmesh::runtime {

// Each function wants a Task that holds a coroutine.
class TaskDriver {
 public:
  // Runs it up to its first suspension or its end.
  template <typename T>
  static void start(Task<T>& task) {
    task.coroutine_.resume();
  }
  template <typename T>
  static bool is_done(const Task<T>& task) {
    return task.coroutine_.done();
  }
  // What an ended coroutine threw, or null.
  template <typename T>
  static std::exception_ptr failure(const Task<T>& task) {
    return task.coroutine_.promise().failure_;
  }
  // The value of an ended coroutine; rethrows what it threw.
  template <typename T>
  static T take(Task<T>& task) {
    return task.coroutine_.promise().take();
  }
};

}  // namespace spotmesh::runtime
