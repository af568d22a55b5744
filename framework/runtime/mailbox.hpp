// Mailbox: the ordered queue of one Actor, Spot or session, with a control and an application lane.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/limits.hpp>
#include <spotmesh/time.hpp>

#include "base/small_mutex.hpp"
#include "runtime/job.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::runtime {

class Gate;

enum class Lane : std::uint8_t { Control, Application };

// What becomes of a mailbox whose turn yields.
enum class OnYield : std::uint8_t {
  KeepMailbox,  // the turn keeps it: nothing of it can overtake the handler that yields (Actors)
  LeaveMailbox  // the turn leaves it: what comes next may start, as anything else of the gate
                // (Spots)
};

// Waits for a claim on a mailbox. Alive until on_claimed() was called or the claim was withdrawn.
class ClaimWaiter {
 public:
  virtual ~ClaimWaiter() = default;
  // Called once, under no lock, on the thread that made the claim possible; only hands over.
  virtual void on_claimed() = 0;

 private:
  friend class Mailbox;
  ClaimWaiter* next_claim_ = nullptr;
};

// States (table in framework/docs/turns.md):
//   Idle     nothing to run, or only held application work
//   Ready    stands in its gate's ready list, or is on its way into or out of it
//   Running  a turn of it is in progress (running, awaiting or yielded): its claim. A turn that has
//            yielded and left the mailbox (OnYield) counts as a claim, but lets other turns start
//   Closed   accepts nothing; what waited has been refused
// A hold (a Join's barrier behind the turn that set it) keeps the application lane back without
// touching the control lane. Holds count. A claim (a callback that takes the Actor, a seal) keeps
// both lanes back and is had by one at a time; the turn in progress is a claim too. While a claim
// waits for turns that have left the mailbox, control jobs still run, because such a turn may wait
// for what they do. Each lane is FIFO in order of acceptance; control runs first, but at most
// limits::control_jobs_in_a_row control jobs in a row while application work could run.
class Mailbox {
 public:
  struct Bounds {
    std::size_t application_jobs = limits::mailbox_application_jobs;
    std::size_t control_jobs = limits::mailbox_control_jobs;
  };
  struct Backlog {
    std::size_t application = 0;
    std::size_t control = 0;
    bool is_running = false;
    bool is_held = false;
    bool is_claimed = false;
  };
  struct RunningTurn {
    Instant since;
    std::string_view what;  // Job::what()
  };

  // `owner` contains the mailbox; it is kept alive while the mailbox is Ready or Running. Whoever
  // calls a function below holds a reference to it by himself. `gate` may be replaced by move_to().
  Mailbox(RefCounted& owner, Gate& gate, Bounds bounds, OnYield on_yield = OnYield::KeepMailbox);
  Mailbox(RefCounted& owner, Gate& gate);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();

  // Any thread. CapacityExceeded when the lane is full, else the error of close(); the job is
  // destroyed without refuse() then, since the caller has the error in hand.
  Result<void> push(Lane lane, std::unique_ptr<Job> job) { return try_push(lane, job); }
  // The same, but a lane that is full, or closed, leaves the job to the caller.
  Result<void> try_push(Lane lane, std::unique_ptr<Job>& job);

  // Any thread. A turn in progress goes on; no later application job starts until the matching
  // release_hold().
  void hold();
  void release_hold();

  // Any thread, on a closed mailbox too. Claims are granted in order, each when no turn of this
  // mailbox is in progress (a yielded one ends first) and no other claim is held; a claim occupies
  // no gate. While one is held, no job of either lane starts, while one waits, no application job.
  // May grant within the call.
  void claim(ClaimWaiter& waiter);
  // True: the claim was still waiting and will not be granted.
  bool withdraw_claim(ClaimWaiter& waiter);
  void release_claim();

  // Only by the holder of the claim: from now on the mailbox's turns run on `gate`.
  void move_to(Gate& gate);
  // The gate it belongs to. Safe to compare from any thread; to use it otherwise, the caller must
  // know that the mailbox does not move (it runs one of its turns or holds the claim).
  Gate& gate() const;
  // Whether turns of this mailbox and turns of `gate` exclude each other. Any thread.
  bool runs_on(const Gate& gate) const { return &this->gate() == &gate; }

  // Any thread. Refuses everything that waits, and all later pushes, with `error`. A turn in
  // progress ends by itself. Closing again changes nothing.
  void close(const Error& error);
  bool is_closed() const;
  // The same, and its turns that are suspended do not go on: each is destroyed, with its frame, at
  // the moment at which it would, or when its gate is abandoned, and its job is refused. For an
  // owner that has to fall silent on a gate it shares.
  void abandon(const Error& error);
  Backlog backlog() const;
  // Whether nothing waits, runs or is held in it.
  bool is_idle() const;
  // Of the turns in progress, those that have left included, the one that began first.
  std::optional<RunningTurn> oldest_turn() const;
  // Who contains it, for observers.
  const RefCounted& owner() const { return owner_; }
  // Whether one of the waiting application jobs is of that kind. Under the mailbox's lock: the
  // question only looks at the job.
  bool has_waiting(const std::function<bool(const Job&)>& is_it) const;

 private:
  friend class Gate;
  friend class Turn;
  enum class State : std::uint8_t { Idle, Ready, Running, Closed };

  // The gate took the mailbox from its ready list: the job whose turn it is, the mailbox Running;
  // or null: the mailbox is Idle, Closed or another gate's now, and may be gone.
  std::unique_ptr<Job> take_next(Gate& taker, Instant now);
  // Ends the turn. True: the mailbox is Ready and the gate lists it; false: it may be gone.
  bool finish_turn();
  // Ends the turn, and gives the next job its own; or null: the mailbox may be gone.
  std::unique_ptr<Job> finish_turn_and_take(Instant now);
  // A turn that has left. The mailbox's own, so that it can be looked at from any thread.
  struct LeftTurn;
  // The turn in progress has yielded. When it leaves, it is on its own from now on, ends with
  // finish_left_turn(), and keeps the owner alive until then.
  struct Yielded {
    LeftTurn* left = nullptr;  // null: it keeps the mailbox
    bool is_ready = false;     // the gate lists the mailbox
  };
  Yielded yield_turn();
  // Ends a turn that has left; the mailbox may be gone.
  void finish_left_turn(LeftTurn* left);
  // Of a closed one.
  Error closing_error() const;
  // The gate is abandoned: drops everything without a word, a turn in progress included, and lets
  // go of the owner.
  void discard();

  struct Jobs {
    JobQueue control;
    JobQueue application;
  };

  bool is_held_locked() const;
  bool can_run_locked() const;
  bool can_run_application_locked() const;
  // The waiter whose on_claimed() the caller calls under no lock, or null.
  ClaimWaiter* grant_claim_locked();
  std::unique_ptr<Job> pop_job_locked();
  // Idle to Ready when there is something to run. The gate that the caller submits once it has let
  // go of the lock, or null. `dropped` takes the jobs when the gate has been abandoned.
  Gate* make_ready_locked(Jobs& dropped);
  // The listing half of it: false when the gate has been abandoned and the mailbox is now Closed.
  bool list_locked(Gate*& to_submit, Jobs& dropped);
  void close_abandoned_locked(Jobs& dropped);

  mutable SmallMutex mutex_;
  RefCounted& owner_;
  Ref<Gate> gate_;
  const Bounds bounds_;
  const OnYield on_yield_;
  Jobs jobs_;
  State state_ = State::Idle;
  RunningTurn running_turn_;  // while Running
  std::uint32_t holds_ = 0;
  std::uint32_t control_in_a_row_ = 0;
  bool is_claimed_ = false;
  std::atomic<bool> is_abandoned_{false};
  LeftTurn* left_turns_ = nullptr;      // have yielded, left the mailbox and not ended
  ClaimWaiter* first_claim_ = nullptr;  // waits only while claimed, Running or with turns that left
  std::unique_ptr<const Error> closed_with_;

  // The ready list's, under the lock of the gate `listed_in_`. Another gate may ask whether the
  // mailbox stands in its own list, hence the atomic.
  std::atomic<Gate*> listed_in_{nullptr};
  Mailbox* previous_ready_ = nullptr;
  Mailbox* next_ready_ = nullptr;
};

}  // namespace spotmesh::runtime
