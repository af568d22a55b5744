// Completion<T>: the one way in which a turn waits for something outside it.
#pragma once

#include <atomic>
#include <cassert>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/gate.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::runtime {

// A value that comes once, from any thread, and is taken once, by one turn. The value may come
// before anybody waits. Waiting counts as a suspension of the turn: what it has gathered is flushed
// first. When the waiting coroutine is destroyed, the value is dropped.
template <typename T>
class Completion final : public RefCounted {
 public:
  // Any thread, under no lock that a turn could want. The first call wins and returns true.
  bool complete(T value) {
    if (is_claimed_.exchange(true, std::memory_order_acq_rel)) return false;
    value_.emplace(std::move(value));
    if (state_.exchange(State::Complete, std::memory_order_acq_rel) == State::Waiting) {
      const Ref<Gate> gate = std::move(gate_);
      gate->resume(*turn_);
    }
    return true;
  }

  // Whether the value has been claimed by a call of complete(). Any thread.
  bool is_complete() const { return is_claimed_.load(std::memory_order_acquire); }

  class [[nodiscard]] Awaiter : public TurnSuspension {
   public:
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    ~Awaiter() {
      if (is_waiting_) completion_->detach();
    }

    bool await_ready() const noexcept {
      return completion_->state_.load(std::memory_order_acquire) == State::Complete;
    }
    bool await_suspend(std::coroutine_handle<> point) {
      Turn& turn = suspend_turn(point, kind_);
      completion_->turn_ = &turn;
      completion_->gate_ = Ref<Gate>(&turn.gate());
      is_waiting_ = true;
      State found = State::Empty;
      if (completion_->state_.compare_exchange_strong(found, State::Waiting,
                                                      std::memory_order_acq_rel)) {
        return true;
      }
      assert(found == State::Complete && "a Completion is awaited by one turn");
      is_waiting_ = false;
      completion_->gate_ = Ref<Gate>();
      unsuspend(turn);
      return false;
    }
    T await_resume() {
      is_waiting_ = false;
      assert(completion_->value_.has_value() && "a Completion gives its value once");
      T value = std::move(*completion_->value_);
      completion_->value_.reset();
      return value;
    }

   private:
    friend class Completion;
    Awaiter(Completion& completion, Kind kind) : completion_(&completion), kind_(kind) {}

    Ref<Completion> completion_;
    Kind kind_;
    bool is_waiting_ = false;
  };

  // `co_await completion->wait()`: keeps the turn, so nothing else of the gate runs meanwhile.
  Awaiter wait() { return Awaiter(*this, TurnSuspension::Kind::Wait); }
  // `co_await completion->yield()`: gives the gate back and goes on in a new turn; the mailbox's
  // claim stays where OnYield says so. Both go on without suspending when the value is there.
  // std::logic_error outside a turn.
  Awaiter yield() { return Awaiter(*this, TurnSuspension::Kind::Yield); }

  static void* operator new(std::size_t size) { return pool_allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { pool_free(block, size); }

 private:
  enum class State : std::uint8_t { Empty, Waiting, Complete, Detached };

  void detach() {
    State found = State::Waiting;
    state_.compare_exchange_strong(found, State::Detached, std::memory_order_acq_rel);
  }

  std::atomic<State> state_{State::Empty};
  std::atomic<bool> is_claimed_{false};
  std::optional<T> value_;  // the claimant's until Complete, then the awaiter's
  Turn* turn_ = nullptr;    // the awaiter's until Waiting, then the claimant's
  Ref<Gate> gate_;
};

template <typename T>
Ref<Completion<T>> make_completion() {
  return make_ref<Completion<T>>();
}

}  // namespace spotmesh::runtime
