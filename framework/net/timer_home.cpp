#include "net/timer_home.hpp"

#include <fmt/core.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <spotmesh/error.hpp>

namespace spotmesh::net {

TimerHome::TimerHome() : wheel_(clock_.now()) {
  descriptor_ = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (descriptor_ < 0) {
    throw ConfigurationError(
        fmt::format("a worker cannot have a timer: timerfd_create: {}", std::strerror(errno)));
  }
}

TimerHome::~TimerHome() { close(descriptor_); }

void TimerHome::arm(runtime::TimerEntry& entry, Instant deadline) {
  std::lock_guard lock(mutex_);
  wheel_.arm(entry, deadline);
  if (is_firing_) return;  // whoever fires programs the timer when it is done
  if (auto next = wheel_.next_deadline(); next && *next < programmed_) program(*next);
}

bool TimerHome::cancel(runtime::TimerEntry& entry) {
  std::unique_lock lock(mutex_);
  // The timer stays as it is programmed: one wake-up for nothing is cheaper than a system call for
  // every cancelled deadline of a request.
  const bool was_armed = wheel_.cancel(entry);
  // An entry can be armed anew while a run of its former arming is still under way; whoever cancels
  // it may end it next, so that run is waited for as well.
  if (running_ == &entry && running_on_ != std::this_thread::get_id()) {
    const std::uint64_t run = runs_begun_;
    fired_.wait(lock, [&] { return running_ != &entry || runs_begun_ != run; });
  }
  return was_armed;
}

void TimerHome::fire_due() {
  std::unique_lock lock(mutex_);
  if (is_firing_) return;
  is_firing_ = true;
  std::uint64_t expirations = 0;
  [[maybe_unused]] auto cleared = read(descriptor_, &expirations, sizeof(expirations));
  const Instant now = clock_.now();
  wheel_.advance(now, [&](runtime::TimerEntry& entry) { run_unlocked(lock, entry, now); });
  is_firing_ = false;
  program_next();
}

void TimerHome::run_unlocked(std::unique_lock<std::mutex>& lock, runtime::TimerEntry& entry,
                             Instant now) {
  running_ = &entry;
  running_on_ = std::this_thread::get_id();
  ++runs_begun_;
  lock.unlock();
  entry.on_timer(now);
  lock.lock();
  // From here on the entry may be gone: only its address is compared.
  running_ = nullptr;
  fired_.notify_all();
}

void TimerHome::program_next() { program(wheel_.next_deadline().value_or(Instant::max())); }

void TimerHome::program(Instant deadline) {
  programmed_ = deadline;
  itimerspec when{};  // all zero disarms
  if (deadline != Instant::max()) {
    const auto since_boot = std::max(deadline.since_origin, Duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    when.it_value.tv_sec = seconds.count();
    when.it_value.tv_nsec = (since_boot - seconds).count();
  }
  timerfd_settime(descriptor_, TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace spotmesh::net
