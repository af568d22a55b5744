// A connection of an HttpServer whose response has opened a tunnel.
#include <array>
#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "net/http_connection.hpp"

namespace spotmesh::net {

namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);

}  // namespace

// From any thread, with or without the server; many calls are one.
std::function<void()> HttpConnection::waker() {
  const auto is_posted = std::make_shared<std::atomic<bool>>(false);
  return [weak_loop = shared_loop_, weak_self = weak_from_this(), is_posted] {
    const auto loop = weak_loop.lock();
    if (!loop || is_posted->exchange(true)) return;
    asio::post(loop->io, [weak_self, is_posted] {
      is_posted->store(false);
      if (const auto self = weak_self.lock()) self->woken_.cancel();
    });
  };
}

// What time was allowed for is over.
void HttpConnection::disallow() {
  ++deadlines_;
  deadline_.cancel();
}

asio::awaitable<void> HttpConnection::serve_tunnel(HttpResponse response) {
  const std::shared_ptr<HttpTunnel> tunnel = std::move(response.tunnel);
  // It has work of its own: nobody else's connection pushes it out.
  is_answering_ = true;
  const std::string head = format_head(response.status, response.headers);
  allow(options_.write_time, Waiting::ForClientToRead);
  const auto [error, bytes] = co_await asio::async_write(socket_, asio::buffer(head), awaited);
  disallow();
  if (error || is_aborted_) co_return;
  tunnel->on_open(waker());
  asio::co_spawn(
      loop_.io,
      [self = shared_from_this(), tunnel]() -> asio::awaitable<void> {
        co_await self->read_tunnel(tunnel);
        self->is_read_over_ = true;
        self->woken_.cancel();
      },
      asio::detached);
  co_await write_tunnel(tunnel);
  is_tunnel_over_ = true;
  is_answering_ = false;
  tunnel->on_closed();
  error_code ignored;
  if (!is_read_over_) {
    // The client is told that nothing follows, and may still be sending.
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    allow(options_.linger_time, Waiting::ForClientToClose);
    woken_.expires_at(std::chrono::steady_clock::time_point::max());
    if (!is_read_over_) co_await woken_.async_wait(awaited);
  }
}

asio::awaitable<void> HttpConnection::write_tunnel(std::shared_ptr<HttpTunnel> tunnel) {
  while (!is_aborted_ && !is_read_over_) {
    const Bytes bytes = tunnel->take();
    if (!bytes.empty()) {
      allow(options_.write_time, Waiting::ForClientToRead);
      const auto [error, written] =
          co_await asio::async_write(socket_, asio::buffer(bytes.data(), bytes.size()), awaited);
      disallow();
      if (error) co_return;
      continue;
    }
    if (tunnel->has_ended()) co_return;
    woken_.expires_after(options_.tunnel_interval);
    const auto [cancelled] = co_await woken_.async_wait(awaited);
    if (!cancelled) tunnel->on_interval();
  }
}

asio::awaitable<void> HttpConnection::read_tunnel(std::shared_ptr<HttpTunnel> tunnel) {
  // What came behind the request is the tunnel's already.
  if (buffer_.size() > 0) {
    const auto early = buffer_.cdata();
    tunnel->on_bytes({static_cast<const std::byte*>(early.data()), early.size()});
    buffer_.consume(buffer_.size());
    woken_.cancel();
  }
  std::array<std::byte, 4096> bytes{};
  for (;;) {
    const auto [error, count] =
        co_await socket_.async_read_some(asio::buffer(bytes.data(), bytes.size()), awaited);
    if (error || is_aborted_) co_return;
    if (is_tunnel_over_) continue;
    tunnel->on_bytes({bytes.data(), count});
    woken_.cancel();
  }
}

}  // namespace spotmesh::net
