// Admission: whether a node may start turns, and who waits until it may again.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include <spotmesh/time.hpp>

#include "runtime/turn.hpp"

namespace spotmesh::runtime {

class Gate;

// Safe from any thread. Called by gates, under none of their locks.
class Admission {
 public:
  virtual ~Admission() = default;
  // Whether turns may run and what they said may leave, at `now`.
  virtual bool is_open(Instant now) = 0;
  // The gate found admission closed at `now`: Gate::submit_parked() when it is open again, at once
  // if it already is. The gate counts as submitted meanwhile and stays alive.
  virtual void park(Gate& gate, Instant now) = 0;
  // A turn ended past the deadline: its flush list waits for the next renewal, in order, or is
  // dropped by a fence. Flushed at once when admission is open at `now` after all.
  virtual void hold_flush(FlushList flush_list, Instant now) = 0;
};

// The local admission deadline of a lease. Closed until the first extend().
class DeadlineAdmission final : public Admission {
 public:
  bool is_open(Instant now) override;
  void park(Gate& gate, Instant now) override;
  void hold_flush(FlushList flush_list, Instant now) override;

  // A renewal succeeded. What was held leaves first, in order; then turns run again. A deadline
  // before the present one, or after fence(), changes nothing. Called by one thread at a time.
  void extend(Instant deadline);
  // The lease is lost for good: what was held is dropped, gates that wait are abandoned, and so is
  // every gate that finds admission closed from now on.
  void fence();

  Instant deadline() const { return {Duration(deadline_.load(std::memory_order_acquire))}; }

 private:
  static constexpr Duration::rep never = Duration::min().count();

  std::atomic<Duration::rep> deadline_{never};
  std::mutex mutex_;
  bool is_fenced_ = false;
  std::vector<Gate*> parked_;
  FlushList held_;
};

}  // namespace spotmesh::runtime
