// The timers of one worker: a wheel, its lock and one timer of the operating system.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include <spotmesh/time.hpp>

#include "net/system_clock.hpp"
#include "runtime/timer_wheel.hpp"

namespace spotmesh::net {

// Safe from any thread. The timerfd runs on CLOCK_BOOTTIME: an epoll timeout, which is what Asio's
// own timers use, stands still while the machine is suspended.
class TimerHome {
 public:
  TimerHome();  // ConfigurationError when the system has no timerfd to give
  ~TimerHome();
  TimerHome(const TimerHome&) = delete;
  TimerHome& operator=(const TimerHome&) = delete;

  void arm(runtime::TimerEntry& entry, Instant deadline);
  // Waits while another thread is inside on_timer() of this very entry.
  bool cancel(runtime::TimerEntry& entry);

  // Runs on_timer() of every entry that is due, without a lock held. Only one thread does at a
  // time; for another the call does nothing.
  void fire_due();

  // Becomes readable when something is due.
  int descriptor() const { return descriptor_; }

 private:
  void program(Instant deadline);
  void program_next();
  void run_unlocked(std::unique_lock<std::mutex>& lock, runtime::TimerEntry& entry, Instant now);

  SystemClock clock_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::condition_variable fired_;
  runtime::TimerWheel wheel_;
  Instant programmed_ = Instant::max();  // when the timerfd goes off
  bool is_firing_ = false;
  runtime::TimerEntry* running_ = nullptr;  // the entry whose on_timer() runs now
  std::uint64_t runs_begun_ = 0;
  std::thread::id running_on_;
};

}  // namespace spotmesh::net
