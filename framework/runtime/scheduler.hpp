// The Scheduler seam: who runs next.
#pragma once

#include <spotmesh/time.hpp>

namespace spotmesh::runtime {

// Something that can be run by a worker: a Gate or a Strand. The owner submits it once when it goes
// from idle to runnable and not again before run() has begun; run() does a bounded batch and
// reports whether more is waiting.
class Runnable {
 public:
  enum class After { Idle, RunAgain };

  virtual ~Runnable() = default;
  // Called by one thread at a time. `RunAgain`: the scheduler puts it at the back of the run queue.
  virtual After run() = 0;
  // The same for a scheduler that has just read the clock: `now` is that reading, and the last one
  // of run() when it made any. Reading a clock is a tenth of what a message costs.
  virtual After run_from(Instant& now);

  Runnable* next_in_run_queue = nullptr;  // owned by the scheduler while submitted
};

inline Runnable::After Runnable::run_from(Instant&) { return run(); }

// Submission is safe from any thread and never runs the Runnable inside the call. A submitted
// Runnable stays alive until its run() has returned Idle; owners guarantee that, as Gate does.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual void submit(Runnable& runnable) = 0;
};

}  // namespace spotmesh::runtime
