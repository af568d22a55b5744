// WorkerCall: work that does not belong on a turn.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include <spotmesh/error.hpp>
#include <spotmesh/task.hpp>

namespace spotmesh::objects {

class Caller;
enum class Waiting;
enum class WorkerPool { Cpu, Io };

// Runs `work` on the pool; the Task ends when it has, or with why it never ran.
Task<Result<void>> run_on_pool(Caller& caller, WorkerPool pool, std::function<void()> work,
                               bool gives_gate_back);

}  // namespace spotmesh::objects

namespace spotmesh {

// The pending result of context().run_cpu_worker(f) or run_io_worker(f). `f` runs once on a thread
// of a bounded pool, off every gate: it must not touch the object's state, only what it captured.
// Submitted once: a second submit is InvalidOperation. CapacityExceeded when the pool's queue is
// full; InternalFailure when `f` throws.
template <typename R>
class [[nodiscard]] WorkerCall {
 public:
  WorkerCall(objects::Caller& caller, objects::WorkerPool pool, std::function<R()> work)
      : caller_(&caller), pool_(pool), work_(std::move(work)) {}

  // Keeps the turn: nothing else of this gate runs until `f` has ended.
  Task<Result<R>> submit() { return start(false); }
  // Gives the gate back meanwhile; only where RequestCall::yield is allowed.
  Task<Result<R>> yield() { return start(true); }

 private:
  using Slot = std::conditional_t<std::is_void_v<R>, std::monostate, std::optional<R>>;

  Task<Result<R>> start(bool gives_gate_back) {
    auto slot = std::make_shared<Slot>();
    std::function<void()> job;
    if (work_) {
      job = [work = std::exchange(work_, nullptr), slot] {
        if constexpr (std::is_void_v<R>) {
          work();
        } else {
          slot->emplace(work());
        }
      };
    }
    return finish(objects::run_on_pool(*caller_, pool_, std::move(job), gives_gate_back), slot);
  }
  static Task<Result<R>> finish(Task<Result<void>> pending, std::shared_ptr<Slot> slot) {
    Result<void> ran = co_await std::move(pending);
    if (!ran) co_return fail(ran.error());
    if constexpr (std::is_void_v<R>) {
      co_return Result<void>();
    } else {
      co_return std::move(**slot);
    }
  }

  objects::Caller* caller_;
  objects::WorkerPool pool_;
  std::function<R()> work_;
};

}  // namespace spotmesh
