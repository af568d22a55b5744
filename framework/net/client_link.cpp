#include "net/client_link.hpp"

#include <sys/socket.h>
#include <unistd.h>

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

ssize_t write_parts(int descriptor, std::span<iovec> parts) {
  constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (parts.size() == 1) return send(descriptor, parts[0].iov_base, parts[0].iov_len, flags);
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return sendmsg(descriptor, &message, flags);
}

}  // namespace

AsioClientLink::AsioClientLink(Worker& worker, std::shared_ptr<Connections> connections,
                               Limits limits)
    : worker_(worker), counted_(worker), connections_(std::move(connections)), limits_(limits) {}

void AsioClientLink::start(tcp::socket socket, SharedBytes response, ByteView first_bytes,
                           std::shared_ptr<stream::ClientLinkHandler> handler) {
  boost::system::error_code failed;
  descriptor_ = socket.release(failed);
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
  if (phase() != Phase::Closed) enter();
}

// What has come already is told as well.
void AsioClientLink::enter() {
  if (worker_.readiness().add(descriptor_, *this)) return;
  finish(describe(errno), Ending::Reset);
}

template <typename Function>
void AsioClientLink::on_own_worker(Function function) {
  worker_.post([self = shared_from_this(), function] { (self.get()->*function)(); });
}

void AsioClientLink::send_batch(std::span<SharedBytes> batch) {
  bool is_flush_mine = false;
  {
    std::lock_guard lock(mutex_);
    if (phase() == Phase::Closing || phase() == Phase::Closed || is_close_wanted_) return;
    std::size_t added = 0;
    for (SharedBytes& bytes : batch) {
      if (bytes.empty()) continue;
      added += bytes.size();
      queue_.push(std::move(bytes));
    }
    const std::size_t unsent = unsent_.load(std::memory_order_relaxed) + added;
    unsent_.store(unsent, std::memory_order_relaxed);
    if (unsent > stream::link_backlog_bytes) was_backlogged_ = true;
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
  if (phase() == Phase::Closed || is_writing_ || is_waiting_writable_) return;
  write_queued(lock, false);
}

// What is pushed while the system writes is taken by the next round of the loop.
void AsioClientLink::write_queued(std::unique_lock<SmallMutex>& lock, bool is_own) {
  is_writing_ = true;
  int error = 0;
  while (phase() != Phase::Closed && !queue_.empty() && error == 0) {
    std::array<iovec, parts_per_write> parts;
    const std::size_t count = queue_.gather(parts);
    lock.unlock();
    const ssize_t written = write_parts(descriptor_, std::span(parts).first(count));
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
    // The socket may have room again, and its worker have been told of it just before this was
    // said: on its own worker it is tried once more, which cannot miss that.
    is_waiting_writable_ = true;
    if (!is_own) on_own_worker(&AsioClientLink::write_on);
  } else if (error != 0) {
    worker_.post(
        [self = shared_from_this(), error] { self->finish(describe(error), Ending::Reset); });
  } else if (phase_ == Phase::Closing) {
    worker_.post([self = shared_from_this()] { self->finish("closed", Ending::Lingering); });
  }
}

void AsioClientLink::take_written(std::size_t bytes) {
  queue_.consume(bytes);
  const std::size_t before = unsent_.load(std::memory_order_relaxed);
  unsent_.store(before - bytes, std::memory_order_relaxed);
  if (was_backlogged_ && before - bytes <= stream::link_backlog_bytes) {
    was_backlogged_ = false;
    on_own_worker(&AsioClientLink::tell_drained);
  }
}

void AsioClientLink::tell_drained() {
  if (phase() == Phase::Open) handler_->on_drained();
}

void AsioClientLink::resume_reading() {
  if (is_paused_.exchange(false)) on_own_worker(&AsioClientLink::read_on);
}

void AsioClientLink::on_ready(bool is_readable, bool is_writable, bool is_over) {
  worker_.mark_awake();
  // The registry may let go of it within.
  const auto self = shared_from_this();
  is_over_ = is_over_ || is_over;
  if (is_readable) {
    is_readable_ = true;
    read_on();
  }
  if (is_writable) write_on();
}

void AsioClientLink::read_on() {
  for (unsigned i = 0; i < reads_in_a_row; ++i) {
    if (!is_readable_) return;
    if (phase() == Phase::Closed) {
      if (!is_lingering_) return;
      discard_some();
    } else {
      if (is_paused_) return;
      read_some();
    }
  }
  if (is_readable_) on_own_worker(&AsioClientLink::read_on);
}

void AsioClientLink::read_some() {
  const auto buffer = worker_.read_buffer();
  const ssize_t got = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0) {
    const int error = errno;
    if (error == EINTR) return;
    is_readable_ = false;
    if (error != EAGAIN && error != EWOULDBLOCK) finish(describe(error), Ending::Reset);
    return;
  }
  if (got == 0) return finish("closed by peer", Ending::Plain);
  const auto bytes = buffer.first(static_cast<std::size_t>(got));
  // Less than there is room for is all there is; but the end behind it is not told again.
  is_readable_ = is_over_ || bytes.size() == buffer.size();
  if (phase() == Phase::Open) handler_->on_bytes(bytes);
}

void AsioClientLink::write_on() {
  std::unique_lock lock(mutex_);
  if (!is_waiting_writable_) return;
  is_waiting_writable_ = false;
  if (phase() != Phase::Closed) write_queued(lock, true);
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
  if (!is_flush_due_ && !is_writing_ && !is_waiting_writable_) write_queued(lock, false);
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
  if (shutdown(descriptor_, SHUT_WR) != 0) return release_socket();
  is_lingering_ = true;
  closing_timer_ = std::make_unique<asio::steady_timer>(worker_.io(), limits_.linger_time);
  closing_timer_->async_wait([self = shared_from_this()](const boost::system::error_code& failed) {
    if (!failed) self->release_socket();
  });
  is_readable_ = true;
  read_on();
}

// What still comes from a client that has been told to go, until it goes.
void AsioClientLink::discard_some() {
  const auto buffer = worker_.read_buffer();
  const ssize_t got = recv(descriptor_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0 || (got < 0 && errno == EINTR)) return;
  is_readable_ = false;
  if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) release_socket();
}

void AsioClientLink::release_socket() {
  if (descriptor_ < 0) return;
  is_lingering_ = false;
  if (ending_ == Ending::Reset) {
    // Whatever the system still holds for a client that does not read is dropped with it.
    const struct linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  worker_.readiness().remove(descriptor_, *this);
  close(std::exchange(descriptor_, -1));
  if (closing_timer_) closing_timer_->cancel();
  connections_->remove(*this);
}

}  // namespace spotmesh::net
