#include "net/mesh_dial.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "net/mesh_connection.hpp"
#include "net/tcp_socket.hpp"

namespace spotmesh::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

static constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

AsioClientLink::Limits limits_of(const MeshTransportOptions& options) {
  return {options.flush_time, options.linger_time};
}

MeshDial::MeshDial(Worker& worker, std::shared_ptr<Connections> connections,
                   const MeshTransportOptions& options, std::string address,
                   mesh::DialHandler& handler)
    : worker_(worker),
      connections_(std::move(connections)),
      options_(options),
      address_(std::move(address)),
      handler_(handler),
      resolver_(worker.io()),
      socket_(worker.io()),
      deadline_(worker.io()) {}

void MeshDial::begin() {
  asio::co_spawn(worker_.io(), [self = shared_from_this()] { return self->run(); }, asio::detached);
}

void MeshDial::abort_connection() {
  worker_.post([self = shared_from_this()] {
    self->fail_with(fmt::format("'{}' is not dialled any more", self->address_));
  });
}

void MeshDial::fail_with(const std::string& reason) {
  if (std::exchange(is_over_, true)) return;
  resolver_.cancel();
  error_code ignored;
  socket_.close(ignored);
  deadline_.cancel();
  handler_.on_dial_failed(Error::unavailable(reason));
  connections_->remove(*this);
}

asio::awaitable<void> MeshDial::run() {
  const auto where = parse_host_and_port(address_);
  if (!where || where->port == 0) {
    fail_with(fmt::format("'{}' is no address to dial; it would be HOST:PORT", address_));
    co_return;
  }
  deadline_.expires_after(options_.dial_time);
  deadline_.async_wait([self = shared_from_this()](const error_code& stopped) {
    if (stopped) return;
    self->fail_with(fmt::format("'{}' did not answer within {} ms", self->address_,
                                self->options_.dial_time / std::chrono::milliseconds(1)));
  });
  const error_code error = co_await connect(*where);
  if (is_over_) co_return;
  if (error) {
    fail_with(fmt::format("cannot connect to '{}': {}", address_, error.message()));
  } else {
    become_connection();
  }
}

asio::awaitable<error_code> MeshDial::connect(HostAndPort where) {
  error_code error;
  const auto address = asio::ip::make_address(where.host, error);
  if (!error) co_return co_await try_endpoint({address, where.port});
  auto [failed, found] =
      co_await resolver_.async_resolve(where.host, fmt::format("{}", where.port), awaited);
  if (failed) co_return failed;
  error_code last = asio::error::host_not_found;
  for (const auto& each : found) {
    last = co_await try_endpoint(each.endpoint());
    if (!last || is_over_) break;
  }
  co_return last;
}

asio::awaitable<error_code> MeshDial::try_endpoint(tcp::endpoint endpoint) {
  if (is_over_) co_return asio::error::operation_aborted;
  error_code error;
  socket_.close(error);
  const int descriptor = new_tcp_socket(endpoint.protocol());
  if (descriptor < 0) co_return last_error();
  socket_.assign(endpoint.protocol(), descriptor, error);
  if (error) {
    ::close(descriptor);
    co_return error;
  }
  auto [failed] = co_await socket_.async_connect(endpoint, awaited);
  co_return failed;
}

void MeshDial::become_connection() {
  deadline_.cancel();
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  const auto link = std::make_shared<AsioClientLink>(worker_, connections_, limits_of(options_));
  const auto connection = std::make_shared<MeshConnection>(link);
  connection->set_handler(handler_);
  if (!connections_->add_link(link)) link->abort();
  // From here on it is the connection that the end of the node has to reach.
  is_over_ = true;
  connections_->remove(*this);
  handler_.on_up(*connection);
  link->start(std::move(socket_), {}, {}, connection);
}

}  // namespace spotmesh::net
