// Gate: what the scheduler runs. It says which turns exclude each other.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include <spotmesh/time.hpp>

#include "base/small_mutex.hpp"
#include "runtime/admission.hpp"
#include "runtime/clock.hpp"
#include "runtime/faults.hpp"
#include "runtime/mailbox.hpp"
#include "runtime/ref_counted.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/turn.hpp"

namespace spotmesh::runtime {

// What observes turns: the trace hash, the one-turn-per-gate checker, metrics. A yielded turn ends
// when it gives the gate back and starts again when it takes it; a turn that awaits goes on.
class TurnObserver {
 public:
  virtual ~TurnObserver() = default;
  virtual void on_turn_started(const Gate& gate, const Mailbox& mailbox, Instant now) = 0;
  virtual void on_turn_ended(const Gate& gate, const Mailbox& mailbox, Instant now) = 0;
  // What a turn has awaited, keeping its gate, has come, and it goes on.
  virtual void on_turn_resumed(const Gate&, const Mailbox&, Instant) {}
  // What a turn has said leaves now, behind its end and not held back.
  virtual void on_flush(const Gate&, const Mailbox&, Instant) {}
};

// What a gate needs of its node; all of it outlives the gate.
struct GateEnvironment {
  Clock& clock;
  Scheduler& scheduler;
  Admission* admission = nullptr;    // null: always open (sessions)
  TurnObserver* observer = nullptr;  // null: nobody watches
  // Null in production. Points: "gate.past-deadline", "gate.second-turn", "flush.past-deadline",
  // "mailbox.reorder", "mailbox.lose", "mailbox.pass-barrier",
  // "timer.cancel-ignored".
  Faults* faults = nullptr;
};

// Rules (framework/docs/turns.md): never two turns of one gate at once. Mailboxes with work stand
// in one FIFO ready list; each gives one job when its time comes and goes to the back. A yielded
// turn that has been resumed goes ahead of new jobs, at most limits::resumed_turns_in_a_row times
// in a row while mailboxes wait. run() ends after limits::gate_batch_jobs turns or
// limits::gate_batch_time. While a turn awaits, the gate is idle and nothing else of it runs.
//
// Locks: a mailbox's before a gate's; both are leaves for everything else, and no code of a job, of
// the scheduler or of the admission runs under either.
class Gate final : public RefCounted, public Runnable {
 public:
  explicit Gate(GateEnvironment environment);

  // Called by the scheduler. Once it has returned Idle, the gate may be gone.
  After run() override;
  After run_from(Instant& now) override;

  // Any thread: the suspended turn goes on in a later run(). Once per suspension. Does nothing when
  // the gate has been abandoned, and then does not look at `turn`.
  void resume(Turn& turn);

  // Any thread: the node has crashed (in the simulator), was fenced, or ends without waiting. Turns
  // that are suspended are destroyed, their frames with them; mailboxes that wait here are
  // discarded; a job that is executing ends by itself. Nothing is finished, refused or flushed.
  // `cleared`, of the first call alone, is called once no turn is left that could touch what runs
  // here: before this returns when the gate is idle, else by the run that finds it abandoned.
  void abandon(std::function<void()> cleared = {});

  // For Admission: gives a parked gate back to the scheduler.
  void submit_parked();

  struct State {
    bool has_turn = false;  // a turn is executing or awaits
    std::size_t ready_mailboxes = 0;
    std::size_t yielded_turns = 0;  // gave the gate back and have not ended
  };
  State state() const;
  // Whether the end of a turn may not be when what it said leaves (Admission).
  bool may_hold_back() const { return environment_.admission != nullptr; }
  Faults* faults() const { return environment_.faults; }

  // The owner's, for a list of its gates.
  Gate* previous_live = nullptr;
  Gate* next_live = nullptr;

 private:
  friend class Mailbox;
  enum class Outcome { None, Skipped, Ended, Waiting, Yielded };
  enum class Listing { Listed, Submit, Abandoned };
  enum class Step { Idle, Pause, Park, Abandoned, Resume, NewJob };

  ~Gate() override;

  // For mailboxes, under their lock. Submit: the caller calls submit() when it holds no lock.
  Listing list_ready(Mailbox& mailbox);
  // False when it does not stand in the list.
  bool unlist_ready(Mailbox& mailbox);
  void submit() { environment_.scheduler.submit(*this); }

  // What run() does next, after a turn that ended with `last`.
  Step next_step(Outcome last, bool is_open, bool is_batch_over);
  void settle_locked(Outcome last);
  Step take_step_locked();
  bool has_work_locked() const;
  void note_wanted_locked();
  // Idle to submitted when there is work: the caller submits once it has let go of the lock.
  bool claim_submission_locked();
  void append_ready_locked(Mailbox& mailbox);
  void remove_ready_locked(Mailbox& mailbox);
  void add_yielded_locked(Turn& turn);
  void remove_yielded_locked(Turn& turn);

  Outcome run_new_job(Instant now);
  Outcome start(Mailbox& mailbox, std::unique_ptr<Job> job, Instant now);
  // The next job of the mailbox whose turn has ended just now, when nobody else wants the gate:
  // what the ready list would lead to, without the way through it. None when there is none, or
  // somebody does.
  Outcome run_on(Instant now);
  Outcome run_resumed(Instant now);
  Outcome execute(Turn& turn, bool is_new) noexcept;
  // The end of a suspended turn whose mailbox was abandoned: nothing is finished, nothing answered.
  Outcome drop(Turn& turn);
  static void end_unfinished(Turn& turn);
  Instant after_execution(Outcome outcome);
  void leave_mailbox(Turn& turn);
  void flush(Turn& turn, Instant now);
  void clear_abandoned();

  const GateEnvironment environment_;

  mutable SmallMutex mutex_;
  bool is_submitted_ = false;  // submitted, running or parked; the gate then holds itself
  bool is_abandoned_ = false;
  bool is_active_ = false;          // `turn_` is executing or awaits
  bool is_active_resumed_ = false;  // … and what it awaits has come
  unsigned resumed_in_a_row_ = 0;
  Mailbox* first_ready_ = nullptr;
  Mailbox* last_ready_ = nullptr;
  std::size_t ready_count_ = 0;
  Turn* first_resumed_ = nullptr;
  Turn* last_resumed_ = nullptr;
  Turn* yielded_ = nullptr;  // all yielded turns, resumed or not
  std::size_t yielded_count_ = 0;
  std::unique_ptr<const std::function<void()>> cleared_;  // of abandon(), if anybody asked
  // Somebody but the mailbox that has its turn wants the gate: another one, a turn that was
  // resumed, or abandon(). Changed under the lock.
  std::atomic<bool> is_wanted_{false};

  // Touched by run() alone, or when nothing runs.
  std::unique_ptr<Turn> turn_;           // the active turn, else a spare one or null
  Mailbox* popped_mailbox_ = nullptr;    // from the ready list, about to give a job
  Mailbox* ended_mailbox_ = nullptr;     // its turn has ended, and is not finished yet
  Mailbox* finished_mailbox_ = nullptr;  // Ready, goes to the back of the ready list
};

}  // namespace spotmesh::runtime
