// One connection of an HttpServer. Inside this module only: it shows Asio.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/http_server.hpp"

namespace spotmesh::net {

// What exchanges hold on to, so that they can be answered whenever they are.
struct HttpLoop {
  boost::asio::io_context io{1};  // one thread runs it
  std::atomic<std::size_t> exchanges{0};
};

// Everything happens on the loop's thread, but for the exchanges' calls.
class HttpConnection final : public std::enable_shared_from_this<HttpConnection> {
 public:
  // `options` and `handler` outlive it.
  HttpConnection(std::shared_ptr<HttpLoop> loop, const HttpServerOptions& options,
                 HttpHandler& handler, boost::asio::ip::tcp::socket socket);

  // Serves requests until either side ends the connection; then `ended` is called.
  void start(std::function<void()> ended);
  // Ends it soon, never inside the call.
  void abort();
  // A request of it waits for its response.
  bool is_answering() const { return is_answering_; }

 private:
  class Exchange;
  enum class Waiting { ForRequest, ForAnswer, ForClientToRead, ForClientToClose };
  // The refusal of what is no request; nothing when the connection just ends.
  using ReadResult = std::expected<RequestHead, std::optional<HttpResponse>>;

  boost::asio::awaitable<void> serve();
  boost::asio::awaitable<ReadResult> read_request();
  boost::asio::awaitable<HttpResponse> answer(const RequestHead& request);
  boost::asio::awaitable<bool> write(HttpResponse response, bool keep_alive, bool is_head);
  // The rest of a connection whose response opens a tunnel.
  boost::asio::awaitable<void> serve_tunnel(HttpResponse response);
  boost::asio::awaitable<void> write_tunnel(std::shared_ptr<HttpTunnel> tunnel);
  boost::asio::awaitable<void> read_tunnel(std::shared_ptr<HttpTunnel> tunnel);
  std::function<void()> waker();
  boost::asio::awaitable<void> close_gently();
  void allow(Duration time, Waiting waiting);
  void disallow();
  // The exchange of that number has been answered, or let go of.
  void take(std::uint64_t exchange, std::optional<HttpResponse> response);

  // Its io_context is that of the socket. Not owned: the loop owns what this object waits for.
  HttpLoop& loop_;
  const std::weak_ptr<HttpLoop> shared_loop_;
  const HttpServerOptions& options_;
  HttpHandler& handler_;
  boost::asio::ip::tcp::socket socket_;
  const std::string remote_address_;
  boost::asio::steady_timer deadline_;
  std::uint64_t deadlines_ = 0;
  bool is_late_ = false;
  bool is_answering_ = false;
  bool is_aborted_ = false;
  std::uint64_t exchange_ = 0;  // the present one's number
  boost::asio::steady_timer answered_;
  std::optional<HttpResponse> response_;
  boost::asio::steady_timer woken_;  // of a tunnel: cancelled when there may be something to take
  bool is_read_over_ = false;        // … and the client sends nothing more
  bool is_tunnel_over_ = false;      // … and it is told nothing more
  boost::beast::flat_buffer buffer_;
};

}  // namespace spotmesh::net
