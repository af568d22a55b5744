#include "net/worker.hpp"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "net/thread_setup.hpp"

namespace spotmesh::net {

namespace {

// Between two polls of its sockets a worker runs this much and then whatever it is in the middle
// of.
constexpr unsigned batch_runnables = 64;
constexpr auto batch_time = std::chrono::microseconds(250);
constexpr unsigned handlers_per_poll = 64;

thread_local Worker* current_worker = nullptr;

}  // namespace

Worker* Worker::current() { return current_worker; }

Worker::Worker(WorkerPool& pool, unsigned index)
    : pool_(pool),
      index_(index),
      io_(1),  // one thread runs it, which saves Asio some of its locks
      keep_running_(io_.get_executor()),
      timer_descriptor_(io_, timers_.descriptor()),
      readiness_descriptor_(io_, readiness_.descriptor()),
      read_buffer_(std::make_unique<std::array<std::byte, read_buffer_bytes>>()) {}

Worker::~Worker() {
  timer_descriptor_.release();
  readiness_descriptor_.release();
}

void Worker::start() {
  wait_for_timer();
  thread_ = start_thread(fmt::format("spotmesh-w{}", index_), [this] {
    current_worker = this;
    loop();
  });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::loop() {
  for (;;) {
    const bool ran = run_batch();
    const bool flushed = finish_batch();
    const bool polled = poll_sockets();
    rounds_.store(rounds_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    const bool is_stopping = pool_.is_stopping_;
    if (is_stopping && SystemClock().now() >= pool_.drain_deadline_) return;
    if (ran || flushed || polled || queue_.size() != 0) continue;
    // Whoever was woken for a second runnable takes it, though by now it may be the only one left.
    if (pool_.steal_for(*this, std::exchange(was_woken_, false) ? 1 : 2)) continue;
    if (is_stopping) return;
    sleep();
  }
}

bool Worker::run_batch() {
  if (queue_.size() == 0) return false;
  const SystemClock clock;
  Instant now = clock.now();
  const Instant until = now + batch_time;
  for (unsigned i = 0; i < batch_runnables; ++i) {
    runtime::Runnable* runnable = queue_.pop();
    if (runnable == nullptr) break;
    const Instant before = now;
    if (runnable->run_from(now) == runtime::Runnable::After::RunAgain)
      pool_.enqueue(*this, *runnable);
    if (now == before) now = clock.now();
    if (now >= until) break;
  }
  return true;
}

bool Worker::finish_batch() {
  if (batch_end_.empty()) return false;
  // What a flush puts off in its turn waits for the next round.
  batch_ending_.swap(batch_end_);
  for (auto& work : batch_ending_) work->on_batch_end();
  batch_ending_.clear();
  return true;
}

bool Worker::poll_sockets() {
  std::lock_guard turn(io_turn_);
  return poll_some() != 0;
}

unsigned Worker::poll_some() {
  unsigned handled = readiness_.tell();
  for (unsigned i = 0; i < handlers_per_poll && io_.poll_one() != 0; ++i) ++handled;
  return handled;
}

void Worker::poll_for_stuck() {
  std::unique_lock turn(io_turn_, std::try_to_lock);
  if (turn) poll_some();
}

void Worker::sleep() {
  is_sleeping_.store(true);
  ++pool_.sleeping_;
  // Whoever submitted before it could see the sleeper is seen by the sleeper now.
  if (queue_.size() == 0 && !pool_.is_stopping_ && !pool_.has_work_to_share()) {
    std::lock_guard turn(io_turn_);
    readiness_.alert(true);
    wait_for_readiness();
    io_.run_one();
    readiness_.alert(false);
  }
  was_woken_ = !mark_awake();
}

bool Worker::mark_awake() {
  if (!is_sleeping_.load(std::memory_order_relaxed) || !is_sleeping_.exchange(false)) return false;
  --pool_.sleeping_;
  return true;
}

bool Worker::wake_if_sleeping() {
  if (!mark_awake()) return false;
  post([] {});
  return true;
}

// Only wakes it up: whoever is awake asks by itself.
void Worker::wait_for_readiness() {
  if (std::exchange(is_waiting_for_readiness_, true)) return;
  readiness_descriptor_.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [this](const boost::system::error_code&) { is_waiting_for_readiness_ = false; });
}

void Worker::wait_for_timer() {
  timer_descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                               [this](const boost::system::error_code& error) {
                                 if (error) return;
                                 timers_.fire_due();
                                 wait_for_timer();
                               });
}

}  // namespace spotmesh::net
