// Turn: one run of a job on a gate, from its start to its coroutine's end.
#pragma once

#include <atomic>
#include <coroutine>
#include <memory>
#include <vector>

#include <spotmesh/task.hpp>
#include <spotmesh/time.hpp>

#include "base/pool.hpp"
#include "runtime/job.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::runtime {

class Gate;

// Something that gathers what is said to one peer or client and sends it as one batch. Kept alive
// until flushed. Several turns may list one Flushable at the same time, and each flushes it at its
// own end: flush() is then called from several threads and finds nothing the second time. What must
// not leave before its own turn ends (see Admission) is gathered in a Flushable of that turn alone.
class Flushable : public RefCounted {
 public:
  virtual void flush() = 0;

  // Whether it is to be flushed at the end of `turn`, the current one. A turn that has ended, or
  // waits, lists nothing any more, also when its flush is held; its address may be another turn's.
  bool is_listed_by(const Turn& turn) const {
    return listed_by_.load(std::memory_order_relaxed) == &turn;
  }

 private:
  friend class Turn;
  std::atomic<const Turn*> listed_by_{nullptr};  // spares a turn from listing it twice
};

using FlushList = std::vector<Ref<Flushable>>;

// What the objects module hangs on a turn: which callback this is, what may be called in it, the
// Joins it has registered. Destroyed when the turn has ended, after Job::finished().
class TurnScope : public Pooled {
 public:
  virtual ~TurnScope() = default;
};

class Turn : public Pooled {
 public:
  // The turn that the calling thread is executing right now, or null: on foreign threads, in timer
  // and store callbacks, during a flush, and after the turn has ended. Set by the gate around every
  // run and resume, so an awaited continuation is inside and a task that a handler left behind is
  // not.
  static Turn* current();

  explicit Turn(Gate& gate) : gate_(gate) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { release_flush_marks(); }

  Gate& gate() const { return gate_; }
  Mailbox& mailbox() const { return *mailbox_; }
  // The clock as read when this turn was started or last resumed.
  Instant now() const { return now_; }

  void set_scope(std::unique_ptr<TurnScope> scope) { scope_ = std::move(scope); }
  TurnScope* scope() const { return scope_.get(); }

  // `flushable` is flushed once when this turn next suspends or ends. Only from the turn itself.
  void flush_at_end(Flushable& flushable);

 private:
  friend class Gate;
  friend class TurnSuspension;
  class Window;  // makes a turn the current one of this thread

  // Lets every Flushable of the list be listed again.
  void release_flush_marks();

  Gate& gate_;
  Mailbox* mailbox_ = nullptr;
  Instant now_{};
  std::unique_ptr<Job> job_;
  std::unique_ptr<TurnScope> scope_;  // outlives the Task, which may use it
  Task<void> task_;
  std::coroutine_handle<> resume_point_;
  FlushList flush_list_;

  // While suspended by a yield. The list links are the gate's, under its lock.
  bool is_yielded_ = false;
  Mailbox::LeftTurn* left_ = nullptr;  // at its first yield, and for good
  Turn* previous_yielded_ = nullptr;
  Turn* next_yielded_ = nullptr;
  Turn* next_resumed_ = nullptr;
};

// Base of the awaiters that suspend a turn. After suspend_turn() the awaiter makes sure that
// Gate::resume(turn) is called once, from any thread and as early as it likes: the gate resumes the
// coroutine only when it has come back from this suspension.
class TurnSuspension : public detail::TurnAwaiter {
 public:
  enum class Kind {
    Wait,  // the gate stays with this turn
    Yield  // the gate is given back; the mailbox's claim stays, or goes with it (OnYield)
  };

 protected:
  // The current turn, which now suspends at `point`; std::logic_error outside a turn.
  static Turn& suspend_turn(std::coroutine_handle<> point, Kind kind);
  // The turn goes on at once after all; nobody has been told to resume it.
  static void unsuspend(Turn& turn);
};

}  // namespace spotmesh::runtime
