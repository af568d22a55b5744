#include "runtime/turn.hpp"

#include <stdexcept>
#include <utility>

#include "runtime/turn_window.hpp"

namespace spotmesh::runtime {
namespace {

constinit thread_local Turn* current_turn = nullptr;

}  // namespace

// Never inlined: a coroutine may move to another thread between two calls, and the compiler would
// be free to keep the thread-local's address across the suspension.
[[gnu::noinline]] Turn* Turn::current() { return current_turn; }

Turn::Window::Window(Turn& turn) { current_turn = &turn; }
Turn::Window::~Window() { current_turn = nullptr; }

void Turn::flush_at_end(Flushable& flushable) {
  if (flushable.listed_by_.load(std::memory_order_relaxed) == this) return;
  flushable.listed_by_.store(this, std::memory_order_relaxed);
  flush_list_.emplace_back(&flushable);
}

void Turn::release_flush_marks() {
  for (const Ref<Flushable>& flushable : flush_list_) {
    const Turn* expected = this;
    flushable->listed_by_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
  }
}

Turn& TurnSuspension::suspend_turn(std::coroutine_handle<> point, Kind kind) {
  Turn* turn = Turn::current();
  if (turn == nullptr) {
    throw std::logic_error("a call of the framework was awaited outside a handler's turn");
  }
  turn->resume_point_ = point;
  turn->is_yielded_ = kind == Kind::Yield;
  return *turn;
}

void TurnSuspension::unsuspend(Turn& turn) {
  turn.resume_point_ = nullptr;
  turn.is_yielded_ = false;
}

}  // namespace spotmesh::runtime
