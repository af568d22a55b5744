#include "net/client_link.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <spotmesh/limits.hpp>

namespace spotmesh::net {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t parts_per_write = 64;
// A client that sends without end lets the others on its worker have their turn after this many.
constexpr unsigned reads_in_a_row = 4;

std::string describe(int error) { return std::generic_category().message(error); }

}  // namespace

AsioClientLink::AsioClientLink(Worker& worker, std::shared_ptr<Connections> connections,
                               Limits limits)
    : worker_(worker),
      counted_(worker),
      connections_(std::move(connections)),
      limits_(limits),
      socket_(worker.io()) {}

void AsioClientLink::start(tcp::socket socket, SharedBytes response, ByteView first_bytes,
                           std::shared_ptr<stream::ClientLinkHandler> handler) {
  socket_ = std::move(socket);
  descriptor_ = socket_.native_handle();
  handler_ = std::move(handler);
  bool is_aborted = false;
  bool is_closing = false;
  {
    std::lock_guard lock(mutex_);
    unsent_ += response.size();
    if (!response.empty()) queue_.push_front(std::move(response));
    is_aborted = is_abort_wanted_;
    is_closing = is_close_wanted_;
    phase_ = is_closing ? Phase::Closing : Phase::Open;
  }
  if (is_aborted) return finish("aborted", Ending::Reset);
  if (is_closing) return begin_closing();
  if (!first_bytes.empty()) handler_->on_bytes(first_bytes);
  bool is_flush_mine = false;
  {
    std::lock_guard lock(mutex_);
    is_flush_mine = claim_flush();
  }
  if (is_flush_mine) schedule_flush();
  wait_readable();
}

AsioClientLink::Phase AsioClientLink::phase() const {
  std::lock_guard lock(mutex_);
  return phase_;
}

template <typename Function>
void AsioClientLink::on_own_worker(Function function) {
  worker_.post([self = shared_from_this(), function] { (self.get()->*function)(); });
}

void AsioClientLink::send(std::vector<SharedBytes> batch) {
  bool is_flush_mine = false;
  {
    std::lock_guard lock(mutex_);
    if (phase_ == Phase::Closing || phase_ == Phase::Closed || is_close_wanted_) return;
    std::size_t added = 0;
    for (SharedBytes& bytes : batch) {
      if (bytes.empty()) continue;
      added += bytes.size();
      queue_.push(std::move(bytes));
    }
    if (unsent_.fetch_add(added) + added > stream::link_backlog_bytes) was_backlogged_ = true;
    is_flush_mine = claim_flush();
  }
  if (is_flush_mine) schedule_flush();
}

// True when nobody else will write what is queued.
bool AsioClientLink::claim_flush() {
  if (phase_ == Phase::Opening || phase_ == Phase::Closed || queue_.empty()) return false;
  if (is_flush_due_ || is_writing_ || is_waiting_writable_) return false;
  is_flush_due_ = true;
  return true;
}

void AsioClientLink::schedule_flush() {
  Worker* here = Worker::current();
  if (here != nullptr && &here->pool() == &worker_.pool()) {
    here->at_batch_end(shared_from_this());
  } else {
    on_own_worker(&AsioClientLink::flush);
  }
}

void AsioClientLink::flush() {
  std::unique_lock lock(mutex_);
  is_flush_due_ = false;
  if (phase_ == Phase::Closed || is_writing_ || is_waiting_writable_) return;
  write_queued(lock);
}

// What is pushed while the system writes is taken by the next round of the loop.
void AsioClientLink::write_queued(std::unique_lock<std::mutex>& lock) {
  is_writing_ = true;
  int error = 0;
  while (phase_ != Phase::Closed && !queue_.empty() && error == 0) {
    std::array<iovec, parts_per_write> parts;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = queue_.gather(parts);
    lock.unlock();
    const ssize_t written = sendmsg(descriptor_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0 && errno != EINTR) error = errno;
    lock.lock();
    if (written > 0 && phase_ != Phase::Closed) take_written(static_cast<std::size_t>(written));
  }
  is_writing_ = false;
  if (phase_ == Phase::Closed) {
    // finish() left the descriptor and the queue to whoever was writing.
    queue_.clear();
    on_own_worker(&AsioClientLink::release_socket);
  } else if (error == EAGAIN || error == EWOULDBLOCK) {
    is_waiting_writable_ = true;
    on_own_worker(&AsioClientLink::wait_writable);
  } else if (error != 0) {
    worker_.post(
        [self = shared_from_this(), error] { self->finish(describe(error), Ending::Reset); });
  } else if (phase_ == Phase::Closing) {
    worker_.post([self = shared_from_this()] { self->finish("closed", Ending::Lingering); });
  }
}

void AsioClientLink::take_written(std::size_t bytes) {
  queue_.consume(bytes);
  const std::size_t before = unsent_.fetch_sub(bytes);
  if (was_backlogged_ && before - bytes <= stream::link_backlog_bytes) {
    was_backlogged_ = false;
    on_own_worker(&AsioClientLink::tell_drained);
  }
}

void AsioClientLink::tell_drained() {
  if (phase() == Phase::Open) handler_->on_drained();
}

void AsioClientLink::resume_reading() {
  if (is_paused_.exchange(false)) on_own_worker(&AsioClientLink::wait_readable);
}

void AsioClientLink::wait_readable() {
  if (is_waiting_readable_ || is_paused_ || phase() == Phase::Closed || !handler_) return;
  is_waiting_readable_ = true;
  socket_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code&) {
                       self->is_waiting_readable_ = false;
                       self->on_readable();
                     });
}

void AsioClientLink::on_readable() {
  worker_.mark_awake();
  for (unsigned i = 0; i < reads_in_a_row; ++i) {
    if (is_paused_ || phase() == Phase::Closed) return;
    if (!read_some()) break;
  }
  wait_readable();
}

// Whether there may be more to read.
bool AsioClientLink::read_some() {
  const auto buffer = worker_.read_buffer();
  const ssize_t got = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0) {
    const int error = errno;
    if (error == EINTR) return true;
    if (error != EAGAIN && error != EWOULDBLOCK) finish(describe(error), Ending::Reset);
    return false;
  }
  if (got == 0) {
    finish("closed by peer", Ending::Plain);
    return false;
  }
  const auto bytes = buffer.first(static_cast<std::size_t>(got));
  if (phase() == Phase::Open) handler_->on_bytes(bytes);
  return bytes.size() == buffer.size();
}

void AsioClientLink::wait_writable() {
  if (phase() == Phase::Closed) return;
  socket_.async_wait(
      tcp::socket::wait_write,
      [self = shared_from_this()](const boost::system::error_code&) { self->on_writable(); });
}

void AsioClientLink::on_writable() {
  std::unique_lock lock(mutex_);
  is_waiting_writable_ = false;
  if (phase_ != Phase::Closed) write_queued(lock);
}

void AsioClientLink::close_after_flush() {
  {
    std::lock_guard lock(mutex_);
    if (is_close_wanted_ || phase_ == Phase::Closed) return;
    is_close_wanted_ = true;
    if (phase_ == Phase::Opening) return;
    phase_ = Phase::Closing;
  }
  on_own_worker(&AsioClientLink::begin_closing);
}

void AsioClientLink::begin_closing() {
  if (phase() == Phase::Closed) return;
  closing_timer_ = std::make_unique<asio::steady_timer>(worker_.io(), limits_.flush_time);
  closing_timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->finish("closed; the client did not read what was left", Ending::Reset);
  });
  // From a worker of the pool flush() is only put off; here it must find an empty queue as well.
  std::unique_lock lock(mutex_);
  if (!is_flush_due_ && !is_writing_ && !is_waiting_writable_) write_queued(lock);
}

void AsioClientLink::abort() {
  {
    std::lock_guard lock(mutex_);
    if (is_abort_wanted_ || phase_ == Phase::Closed) return;
    is_abort_wanted_ = true;
    if (phase_ == Phase::Opening) return;
  }
  worker_.post([self = shared_from_this()] { self->finish("aborted", Ending::Reset); });
}

void AsioClientLink::abort_connection() {
  abort();
  on_own_worker(&AsioClientLink::release_if_closed);  // one that lingers
}

void AsioClientLink::release_if_closed() {
  {
    std::lock_guard lock(mutex_);
    if (phase_ != Phase::Closed || is_writing_) return;
  }
  release_socket();
}

void AsioClientLink::finish(std::string_view reason, Ending ending) {
  {
    std::lock_guard lock(mutex_);
    if (phase_ == Phase::Closed) return;
    phase_ = Phase::Closed;
    unsent_ = 0;
    if (!is_writing_) queue_.clear();
  }
  ending_ = ending;
  if (closing_timer_) closing_timer_->cancel();
  // In a variable of its own: the handler lives until its last call has returned, and no longer.
  const auto handler = std::exchange(handler_, nullptr);
  handler->on_closed(reason);
  {
    std::lock_guard lock(mutex_);
    if (is_writing_) return;  // the writer sees the phase and has the socket released
  }
  if (ending == Ending::Lingering) return linger();
  release_socket();
}

// Closing at once could make the system drop what the client has not read yet, the reason for the
// close among it: data that is still under way to us would be answered with a reset.
void AsioClientLink::linger() {
  boost::system::error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  if (error) return release_socket();
  closing_timer_ = std::make_unique<asio::steady_timer>(worker_.io(), limits_.linger_time);
  closing_timer_->async_wait([self = shared_from_this()](const boost::system::error_code& failed) {
    if (!failed) self->release_socket();
  });
  discard_until_closed();
}

void AsioClientLink::discard_until_closed() {
  socket_.async_wait(
      tcp::socket::wait_read, [self = shared_from_this()](const boost::system::error_code& failed) {
        if (failed) return;
        const auto buffer = self->worker_.read_buffer();
        const ssize_t got = recv(self->descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
        const bool is_over = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
        if (is_over) return self->release_socket();
        self->discard_until_closed();
      });
}

void AsioClientLink::release_socket() {
  if (!socket_.is_open()) return;
  boost::system::error_code ignored;
  if (ending_ == Ending::Reset) {
    // Whatever the system still holds for a client that does not read is dropped with it.
    socket_.set_option(tcp::socket::linger(true, 0), ignored);
  }
  socket_.close(ignored);
  if (closing_timer_) closing_timer_->cancel();
  connections_->remove(*this);
}

}  // namespace spotmesh::net
