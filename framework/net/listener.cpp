#include "net/listener.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <utility>

#include "net/opening.hpp"
#include "net/worker.hpp"

namespace spotmesh::net {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

std::string address_text(const stream::ListenOptions& options) {
  const bool is_v6 = options.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", options.host, options.port)
               : fmt::format("{}:{}", options.host, options.port);
}

error_code last_error() { return {errno, boost::system::system_category()}; }

// Asio's own sockets would be inherited by a program that the game starts, which then keeps the
// port and the clients after this server has gone.
constexpr int socket_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;

int new_socket(const tcp& protocol) {
  return ::socket(protocol.family(), protocol.type() | socket_flags, protocol.protocol());
}

bool is_shortage(const error_code& error) {
  return error == asio::error::no_descriptors || error.value() == ENFILE ||
         error == asio::error::no_buffer_space || error == asio::error::no_memory;
}

}  // namespace

Listener::Listener(WorkerPool& pool, std::shared_ptr<Serving> serving)
    : pool_(pool),
      serving_(std::move(serving)),
      acceptor_(pool.worker(0).io()),
      pause_(pool.worker(0).io()) {}

Result<tcp::endpoint> Listener::endpoint() const {
  const auto& listen = serving_->listen;
  error_code error;
  const auto address = asio::ip::make_address(listen.host, error);
  if (!error) return tcp::endpoint(address, listen.port);
  // A name, such as localhost. Asked for once, while the server starts.
  tcp::resolver resolver(pool_.worker(0).io());
  const auto found =
      resolver.resolve(listen.host, fmt::format("{}", listen.port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    return fail(Error::unavailable(fmt::format("cannot listen on {}: the host is not known: {}",
                                               address_text(listen), error.message())));
  }
  return found.begin()->endpoint();
}

Result<std::uint16_t> Listener::open() {
  const auto where = endpoint();
  if (!where) return fail(where.error());
  std::uint16_t port = 0;
  {
    std::lock_guard lock(mutex_);
    error_code error;
    open_acceptor(where->protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(*where, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) port = acceptor_.local_endpoint(error).port();
    if (error) {
      return fail(Error::unavailable(
          fmt::format("cannot listen on {}: {}", address_text(serving_->listen), error.message())));
    }
  }
  accept_next();
  return port;
}

void Listener::open_acceptor(const tcp& protocol, error_code& error) {
  const int descriptor = new_socket(protocol);
  if (descriptor < 0) {
    error = last_error();
    return;
  }
  protocol_ = protocol;
  acceptor_.assign(protocol, descriptor, error);
  if (error) ::close(descriptor);
}

void Listener::close() {
  serving_->gate.close();
  std::lock_guard lock(mutex_);
  error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
}

void Listener::accept_next() {
  std::lock_guard lock(mutex_);
  if (!acceptor_.is_open()) return;
  acceptor_.async_wait(tcp::acceptor::wait_read,
                       [self = shared_from_this()](const error_code& error) {
                         if (error != asio::error::operation_aborted) self->accept();
                       });
}

void Listener::accept() {
  Worker& worker = idlest_worker();
  tcp::socket socket(worker.io());
  const error_code error = accept_into(socket);
  if (is_shortage(error)) return pause(error);
  if (!error) {
    if (std::exchange(is_paused_, false)) {
      serving_->log.write(LogLevel::Info, "net", "clients are accepted again", {});
    }
    begin_opening(worker, serving_, std::move(socket));
  }
  // Any other error is that of one connection that ended before it was accepted.
  accept_next();
}

error_code Listener::accept_into(tcp::socket& socket) {
  std::lock_guard lock(mutex_);
  if (!acceptor_.is_open()) return asio::error::operation_aborted;
  const int descriptor = ::accept4(acceptor_.native_handle(), nullptr, nullptr, socket_flags);
  if (descriptor < 0) return last_error();
  error_code error;
  socket.assign(protocol_, descriptor, error);
  if (error) ::close(descriptor);
  return error;
}

// Accepting on would fail again at once and burn a processor; what waits in the system's queue is
// accepted as soon as others have gone.
void Listener::pause(const error_code& error) {
  if (!std::exchange(is_paused_, true)) {
    serving_->log.write(LogLevel::Error, "net",
                        "no client can be accepted until others go; raise the limit of open files",
                        {{"listener", address_text(serving_->listen)}, {"error", error.message()}});
  }
  std::lock_guard lock(mutex_);
  if (!acceptor_.is_open()) return;
  pause_.expires_after(serving_->options.accept_pause);
  pause_.async_wait([self = shared_from_this()](const error_code& cancelled) {
    if (!cancelled) self->accept_next();
  });
}

Worker& Listener::idlest_worker() {
  const unsigned first = accepted_++ % pool_.thread_count();
  unsigned best = first;
  for (unsigned step = 1; step < pool_.thread_count(); ++step) {
    const unsigned candidate = (first + step) % pool_.thread_count();
    if (pool_.worker(candidate).connections() < pool_.worker(best).connections()) best = candidate;
  }
  return pool_.worker(best);
}

}  // namespace spotmesh::net
