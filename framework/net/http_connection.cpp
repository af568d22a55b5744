#include "net/http_connection.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

#include "net/peer_names.hpp"
#include "net/request_parser.hpp"

namespace spotmesh::net {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);
// What a client may send behind its request without having waited for the answer.
constexpr std::size_t bytes_behind_head = 4 * 1024;

}  // namespace

class HttpConnection::Exchange final : public HttpExchange {
 public:
  Exchange(HttpConnection& connection, std::shared_ptr<HttpLoop> loop)
      : connection_(connection.weak_from_this()),
        loop_(std::move(loop)),
        number_(connection.exchange_),
        remote_address_(connection.remote_address_) {
    ++loop_->exchanges;
  }
  ~Exchange() override {
    --loop_->exchanges;
    tell(std::nullopt);
  }

  void respond(HttpResponse response) override { tell(std::move(response)); }
  const std::string& remote_address() const override { return remote_address_; }

 private:
  void tell(std::optional<HttpResponse> response) {
    if (is_answered_.exchange(true)) return;
    asio::post(loop_->io, [connection = connection_, number = number_,
                           response = std::move(response)]() mutable {
      if (const auto alive = connection.lock()) alive->take(number, std::move(response));
    });
  }

  const std::weak_ptr<HttpConnection> connection_;
  const std::shared_ptr<HttpLoop> loop_;
  const std::uint64_t number_;
  const std::string remote_address_;
  std::atomic<bool> is_answered_{false};
};

HttpConnection::HttpConnection(std::shared_ptr<HttpLoop> loop, const HttpServerOptions& options,
                               HttpHandler& handler, tcp::socket socket)
    : loop_(*loop),
      shared_loop_(loop),
      options_(options),
      handler_(handler),
      socket_(std::move(socket)),
      remote_address_(peer_address(socket_)),
      deadline_(loop->io),
      answered_(loop->io),
      woken_(loop->io),
      buffer_(options.head_bytes + bytes_behind_head) {}

void HttpConnection::start(std::function<void()> ended) {
  asio::co_spawn(
      loop_.io,
      [self = shared_from_this(), ended = std::move(ended)]() -> asio::awaitable<void> {
        co_await self->serve();
        self->deadline_.cancel();
        error_code ignored;
        self->socket_.close(ignored);
        ended();
      },
      asio::detached);
}

void HttpConnection::abort() {
  asio::post(loop_.io, [self = shared_from_this()] {
    self->is_aborted_ = true;
    error_code ignored;
    self->socket_.close(ignored);
    self->deadline_.cancel();
    self->answered_.cancel();
    self->woken_.cancel();
  });
}

// Ends the wait when the time is over. What is late can still be answered; a client that does not
// read cannot.
void HttpConnection::allow(Duration time, Waiting waiting) {
  is_late_ = false;
  deadline_.expires_after(time);
  deadline_.async_wait(
      [self = shared_from_this(), waiting, number = ++deadlines_](const error_code& cancelled) {
        if (cancelled || number != self->deadlines_) return;
        self->is_late_ = true;
        error_code ignored;
        switch (waiting) {
          case Waiting::ForRequest:
            self->socket_.shutdown(tcp::socket::shutdown_receive, ignored);
            return;
          case Waiting::ForAnswer:
            self->answered_.cancel();
            return;
          case Waiting::ForClientToRead:
            // With a reset: the system shall not keep what the client does not read either.
            self->socket_.set_option(tcp::socket::linger(true, 0), ignored);
            break;
          case Waiting::ForClientToClose:
            break;
        }
        self->socket_.close(ignored);
      });
}

asio::awaitable<void> HttpConnection::serve() {
  for (unsigned left = options_.requests_per_connection; left > 0; --left) {
    auto request = co_await read_request();
    if (!request) {
      if (!request.error()) co_return;
      co_await write(*std::move(request.error()), false, false);
      break;
    }
    // Where its body ends is no question of what it means, so nothing can follow it.
    const bool keep_alive = request->wants_keep_alive && !request->has_body && left > 1;
    HttpResponse response = co_await answer(*request);
    if (is_aborted_) co_return;
    if (response.tunnel) {
      co_await serve_tunnel(std::move(response));
      co_return;
    }
    const bool is_head = request->method == "HEAD";
    if (!co_await write(std::move(response), keep_alive, is_head) || !keep_alive) break;
  }
  co_await close_gently();
}

asio::awaitable<HttpConnection::ReadResult> HttpConnection::read_request() {
  RequestParser parser;
  parser.header_limit(static_cast<std::uint32_t>(options_.head_bytes));
  allow(options_.request_time, Waiting::ForRequest);
  auto [error, bytes] = co_await http::async_read_header(socket_, buffer_, parser, awaited);
  if (is_late_ && parser.got_some()) {
    co_return std::unexpected(handler_.refusal(408, "the request took too long"));
  }
  if (error == http::error::end_of_stream || is_late_ || is_aborted_ ||
      (error && error.category() == boost::system::system_category())) {
    co_return std::unexpected(std::nullopt);
  }
  if (error) {
    const TextResponse refused = refusal_of(error, options_.head_bytes);
    co_return std::unexpected(handler_.refusal(refused.status, refused.text));
  }
  co_return head_of(parser);
}

asio::awaitable<HttpResponse> HttpConnection::answer(const RequestHead& request) {
  if (request.has_body) co_return handler_.refusal(413, "a request has no body here");
  if (loop_.exchanges.load() >= options_.exchanges) {
    co_return handler_.refusal(
        503, fmt::format("{} requests are under way, which is the most", options_.exchanges));
  }
  ++exchange_;
  response_.reset();
  is_answering_ = true;
  // What comes from other threads comes as handlers of the loop, hence not before the wait.
  answered_.expires_at(std::chrono::steady_clock::time_point::max());
  allow(options_.answer_time, Waiting::ForAnswer);
  handler_.on_request(request, std::make_shared<Exchange>(*this, shared_loop_.lock()));
  co_await answered_.async_wait(awaited);
  is_answering_ = false;
  ++exchange_;
  if (!response_) co_return handler_.on_no_answer(request);
  co_return *std::exchange(response_, std::nullopt);
}

void HttpConnection::take(std::uint64_t exchange, std::optional<HttpResponse> response) {
  if (exchange != exchange_) return;
  response_ = std::move(response);
  answered_.cancel();
}

asio::awaitable<bool> HttpConnection::write(HttpResponse response, bool keep_alive, bool is_head) {
  response.headers.push_back({"Content-Type", std::move(response.content_type)});
  response.headers.push_back({"Content-Length", fmt::format("{}", response.body.size())});
  response.headers.push_back({"Connection", keep_alive ? "keep-alive" : "close"});
  const std::string head = format_head(response.status, response.headers);
  const std::array<asio::const_buffer, 2> parts{
      asio::buffer(head), is_head ? asio::const_buffer() : asio::buffer(response.body)};
  allow(options_.write_time, Waiting::ForClientToRead);
  const auto [error, bytes] = co_await asio::async_write(socket_, parts, awaited);
  co_return !error;
}

// A close with input unread is a reset, which can overtake the response.
asio::awaitable<void> HttpConnection::close_gently() {
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  allow(options_.linger_time, Waiting::ForClientToClose);
  std::array<char, 4096> dropped{};
  for (;;) {
    const auto [error, bytes] = co_await socket_.async_read_some(asio::buffer(dropped), awaited);
    if (error) co_return;
  }
}

}  // namespace spotmesh::net
