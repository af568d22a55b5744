// One thread of a WorkerPool. Inside this module only: it shows Asio.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "net/readiness.hpp"
#include "net/run_queue.hpp"
#include "net/timer_home.hpp"
#include "net/worker_pool.hpp"

namespace spotmesh::net {

// Work that is put off to the end of the batch a worker is in, so that what many turns say to one
// client leaves in one write.
class BatchEnd {
 public:
  virtual ~BatchEnd() = default;
  virtual void on_batch_end() = 0;
};

// An event loop, a run queue and a timer wheel. Runs batches of runnables and polls its sockets in
// between: clients' by its own epoll, all others by Asio's. Sleeps in Asio's when there is nothing
// to do.
class Worker {
 public:
  static constexpr std::size_t read_buffer_bytes = 64 * 1024;

  Worker(WorkerPool& pool, unsigned index);
  ~Worker();

  void start();
  void join();

  // The worker whose thread this is; null on any other thread.
  static Worker* current();

  WorkerPool& pool() const { return pool_; }
  unsigned index() const { return index_; }
  boost::asio::io_context& io() { return io_; }
  RunQueue& queue() { return queue_; }
  TimerHome& timers() { return timers_; }
  // Its waiters are called as handlers of io() are.
  Readiness& readiness() { return readiness_; }

  // Runs `function` as a handler of io(): one at a time, on this worker's thread or that of one
  // that helps it out, never inside the call. Safe from any thread.
  template <typename Function>
  void post(Function&& function) {
    boost::asio::post(io_, std::forward<Function>(function));
  }

  // How many connections live here; see CountedOn.
  unsigned connections() const { return connections_.load(std::memory_order_relaxed); }

  // Only on this worker's own thread.
  void at_batch_end(std::shared_ptr<BatchEnd> work) { batch_end_.push_back(std::move(work)); }
  // Only from handlers of io(), which run one at a time. Shared by everything that reads on this
  // worker; valid until the next read.
  std::span<std::byte> read_buffer() { return *read_buffer_; }

  // A worker that sleeps is still counted as asleep when a socket wakes it; the first thing it does
  // for others says otherwise. True when it was asleep.
  bool mark_awake();
  // Claims and ends the sleep of this worker. False when it is awake or somebody else woke it.
  bool wake_if_sleeping();
  bool is_sleeping() const { return is_sleeping_.load(); }
  // Handles what is ready on this worker's sockets from another worker's thread, because this one
  // is stuck in a runnable. Does nothing when its own thread is at its sockets.
  void poll_for_stuck();
  // Grows with each round of the loop: a busy worker whose count stands still is stuck in a turn.
  std::uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

 private:
  friend class CountedOn;

  void loop();
  bool run_batch();
  bool finish_batch();
  bool poll_sockets();
  unsigned poll_some();
  void sleep();
  void wait_for_readiness();
  void wait_for_timer();

  WorkerPool& pool_;
  const unsigned index_;
  boost::asio::io_context io_;
  std::mutex io_turn_;  // held by the one thread that runs handlers of io_
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep_running_;
  RunQueue queue_;
  TimerHome timers_;
  Readiness readiness_;
  boost::asio::posix::stream_descriptor timer_descriptor_;
  boost::asio::posix::stream_descriptor readiness_descriptor_;
  std::unique_ptr<std::array<std::byte, read_buffer_bytes>> read_buffer_;
  std::vector<std::shared_ptr<BatchEnd>> batch_end_;
  std::vector<std::shared_ptr<BatchEnd>> batch_ending_;
  bool is_waiting_for_readiness_ = false;
  bool was_woken_ = false;  // by somebody who has work for it
  std::atomic<bool> is_sleeping_{false};
  std::atomic<std::uint64_t> rounds_{0};
  std::atomic<unsigned> connections_{0};
  std::thread thread_;
};

// Part of every connection, so that new ones go to the worker that has the fewest.
class CountedOn {
 public:
  explicit CountedOn(Worker& worker) : worker_(worker) { ++worker_.connections_; }
  ~CountedOn() { --worker_.connections_; }
  CountedOn(const CountedOn&) = delete;
  CountedOn& operator=(const CountedOn&) = delete;

 private:
  Worker& worker_;
};

}  // namespace spotmesh::net
