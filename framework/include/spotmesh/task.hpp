// Task<T>: the coroutine type of handlers and callbacks.
#pragma once

#include <cassert>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace spotmesh {

template <typename T = void>
class Task;

namespace runtime {
class TaskDriver;
}

namespace detail {

// Coroutine frames come from the runtime's pool.
void* allocate_frame(std::size_t size);
void free_frame(void* frame, std::size_t size) noexcept;

// The mark of every awaiter that a Task may wait on. What bears it is resumed by its gate, on its
// turn; anything else would resume the handler on a foreign thread, beside the turns it relies on.
struct TurnAwaiter {};

template <typename Awaitable>
decltype(auto) awaiter_of(Awaitable&& awaitable) {
  if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); }) {
    return std::forward<Awaitable>(awaitable).operator co_await();
  } else if constexpr (requires { operator co_await(std::forward<Awaitable>(awaitable)); }) {
    return operator co_await(std::forward<Awaitable>(awaitable));
  } else {
    return std::forward<Awaitable>(awaitable);
  }
}

template <typename Awaitable>
inline constexpr bool is_turn_awaitable =
    std::derived_from<std::remove_cvref_t<decltype(awaiter_of(std::declval<Awaitable>()))>,
                      TurnAwaiter>;

class PromiseBase {
 public:
  struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
      return ended.promise().continuation_;
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  template <typename Awaitable>
  Awaitable&& await_transform(Awaitable&& awaitable) {
    static_assert(
        is_turn_awaitable<Awaitable>,
        "a Task can only await another Task (co_await std::move(task) for a named one) or "
        "a call of the framework; move other work to run_cpu_worker or run_io_worker and "
        "await that");
    return std::forward<Awaitable>(awaitable);
  }

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { free_frame(frame, size); }

  std::coroutine_handle<> continuation_ = std::noop_coroutine();
  std::exception_ptr failure_;
};

template <typename T>
class Promise final : public PromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  // The default lets `co_return {};` give a value-initialized T.
  template <typename Value = T>
    requires std::constructible_from<T, Value&&>
  void return_value(Value&& value) {
    value_.emplace(std::forward<Value>(value));
  }
  T take() {
    if (failure_) std::rethrow_exception(failure_);
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> final : public PromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const {
    if (failure_) std::rethrow_exception(failure_);
  }
};

}  // namespace detail

// A lazy coroutine: it starts when it is awaited, runs on the turn of whoever awaits it, and hands
// back its value or rethrows its exception there. Move-only, awaited once (`co_await make();` or
// `co_await std::move(task);`). Destroying a Task that has not ended destroys its frame. A
// default-constructed Task holds no coroutine; awaiting an empty Task<void> does nothing.
template <typename T>
class [[nodiscard]] Task {
  static_assert(!std::is_reference_v<T>, "a Task returns a value; return a pointer instead");

 public:
  using promise_type = detail::Promise<T>;

  Task() = default;
  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(coroutine_, other.coroutine_);
    return *this;
  }
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  // Whether it holds a coroutine.
  explicit operator bool() const { return static_cast<bool>(coroutine_); }

  auto operator co_await() && noexcept { return Awaiter{{}, coroutine_}; }

 private:
  friend promise_type;
  friend runtime::TaskDriver;

  struct Awaiter : detail::TurnAwaiter {
    std::coroutine_handle<promise_type> coroutine;

    bool await_ready() const noexcept { return !coroutine && std::is_void_v<T>; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> continuation) const noexcept {
      assert(coroutine && "an empty Task was awaited for a value");
      coroutine.promise().continuation_ = continuation;
      return coroutine;
    }
    T await_resume() const {
      if constexpr (std::is_void_v<T>) {
        if (!coroutine) return;
      }
      return coroutine.promise().take();
    }
  };

  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

template <typename T>
Task<T> detail::Promise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}

inline Task<void> detail::Promise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

}  // namespace spotmesh
