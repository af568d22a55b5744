// One client connection after its opening: bytes in, batches out. Inside this module only: it shows
// Asio.
#pragma once

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/time.hpp>

#include "base/small_mutex.hpp"
#include "net/connections.hpp"
#include "net/outbound_queue.hpp"
#include "net/readiness.hpp"
#include "net/worker.hpp"
#include "stream/client_links.hpp"

namespace spotmesh::net {

// Reading, waiting and all calls of the handler happen on the worker the link lives on, as that
// worker's Readiness tells of the socket. Writing is done by whichever worker has something to say,
// at the end of its batch, so that a room's worker does not wake another one for every member; only
// waiting for a full socket goes to the link's own.
class AsioClientLink final : public stream::ClientLink,
                             public Connection,
                             public BatchEnd,
                             private Readiness::Waiter,
                             public std::enable_shared_from_this<AsioClientLink> {
 public:
  struct Limits {
    Duration flush_time;   // close_after_flush() gives up after it
    Duration linger_time;  // how long the client may take to close after us
  };

  AsioClientLink(Worker& worker, std::shared_ptr<Connections> connections, Limits limits);

  // Begins: on the link's worker, after on_link() has returned `handler`. `response` goes out
  // before whatever was sent meanwhile; `first_bytes` came with the request. Both may be empty.
  void start(boost::asio::ip::tcp::socket socket, SharedBytes response, ByteView first_bytes,
             std::shared_ptr<stream::ClientLinkHandler> handler);

  void send_batch(std::span<SharedBytes> batch) override;
  std::size_t unsent_bytes() const override { return unsent_.load(std::memory_order_relaxed); }
  void pause_reading() override { is_paused_.store(true); }
  void resume_reading() override;
  void close_after_flush() override;
  void abort() override;

  void abort_connection() override;
  void on_batch_end() override { flush(); }

 private:
  enum class Phase { Opening, Open, Closing, Closed };
  enum class Ending { Plain, Reset, Lingering };

  // Any thread.
  Phase phase() const { return phase_.load(std::memory_order_acquire); }
  bool claim_flush();
  void schedule_flush();
  void flush();
  // `is_own`: as one thing of the own worker after another.
  void write_queued(std::unique_lock<SmallMutex>& lock, bool is_own);
  void take_written(std::size_t bytes);
  template <typename Function>
  void on_own_worker(Function function);

  // The link's own worker.
  void enter();
  void on_ready(bool is_readable, bool is_writable, bool is_over) override;
  void read_on();
  void read_some();
  void write_on();
  void tell_drained();
  void begin_closing();
  void finish(std::string_view reason, Ending ending);
  void linger();
  void discard_some();
  void release_if_closed();
  void release_socket();

  Worker& worker_;
  const CountedOn counted_;
  const std::shared_ptr<Connections> connections_;
  const Limits limits_;
  int descriptor_ = -1;
  std::shared_ptr<stream::ClientLinkHandler> handler_;
  std::unique_ptr<boost::asio::steady_timer> closing_timer_;
  Ending ending_ = Ending::Plain;
  bool is_lingering_ = false;
  bool is_readable_ = false;  // not all that there is has been read
  bool is_over_ = false;      // the client has ended its side, or the connection has failed

  std::atomic<bool> is_paused_{false};
  std::atomic<std::size_t> unsent_{0};  // changed under the lock

  SmallMutex mutex_;                          // guards all below
  std::atomic<Phase> phase_{Phase::Opening};  // changed under the lock only
  bool is_close_wanted_ = false;              // asked for before start()
  bool is_abort_wanted_ = false;
  bool is_flush_due_ = false;         // some worker will call flush()
  bool is_writing_ = false;           // some worker is inside a system call on the descriptor
  bool is_waiting_writable_ = false;  // the own worker goes on when the socket takes more
  bool was_backlogged_ = false;
  OutboundQueue queue_;
};

}  // namespace spotmesh::net
