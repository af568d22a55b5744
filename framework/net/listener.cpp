#include "net/listener.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <utility>

#include "net/tcp_socket.hpp"
#include "net/worker.hpp"

namespace spotmesh::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

Listener::Listener(WorkerPool& pool, ListenerOptions options, LogSink& log, OnSocket on_socket)
    : pool_(pool),
      options_(std::move(options)),
      log_(log),
      on_socket_(std::move(on_socket)),
      acceptor_(pool.worker(0).io()),
      pause_(pool.worker(0).io()) {}

Result<tcp::endpoint> Listener::endpoint() const {
  const HostAndPort& listen = options_.where;
  error_code error;
  const auto address = asio::ip::make_address(listen.host, error);
  if (!error) return tcp::endpoint(address, listen.port);
  // A name, such as localhost. Asked for once, while the server starts.
  tcp::resolver resolver(pool_.worker(0).io());
  const auto found =
      resolver.resolve(listen.host, fmt::format("{}", listen.port), tcp::resolver::passive, error);
  if (error || found.empty()) {
    return fail(Error::unavailable(fmt::format("cannot listen on {}: the host is not known: {}",
                                               to_string(listen), error.message())));
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
          fmt::format("cannot listen on {}: {}", to_string(options_.where), error.message())));
    }
  }
  accept_next();
  return port;
}

void Listener::open_acceptor(const tcp& protocol, error_code& error) {
  const int descriptor = new_tcp_socket(protocol);
  if (descriptor < 0) {
    error = last_error();
    return;
  }
  protocol_ = protocol;
  acceptor_.assign(protocol, descriptor, error);
  if (error) ::close(descriptor);
}

void Listener::close() {
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
      log_.write(LogLevel::Info, "net", fmt::format("{}s are accepted again", options_.who), {});
    }
    on_socket_(worker, std::move(socket));
  }
  // Any other error is that of one connection that ended before it was accepted.
  accept_next();
}

error_code Listener::accept_into(tcp::socket& socket) {
  std::lock_guard lock(mutex_);
  if (!acceptor_.is_open()) return asio::error::operation_aborted;
  const int descriptor = accept_tcp_socket(acceptor_.native_handle());
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
    log_.write(LogLevel::Error, "net",
               fmt::format("no {} can be accepted until others go; raise the limit of open files",
                           options_.who),
               {{"listener", to_string(options_.where)}, {"error", error.message()}});
  }
  std::lock_guard lock(mutex_);
  if (!acceptor_.is_open()) return;
  pause_.expires_after(options_.accept_pause);
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
