#include "net/opening.hpp"

#include <fmt/format.h>
#include <sys/sendfile.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <cerrno>
#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "net/client_link.hpp"
#include "net/http_message.hpp"
#include "net/peer_names.hpp"
#include "net/request_parser.hpp"
#include "net/upgrade.hpp"

namespace spotmesh::net {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);
constexpr unsigned requests_per_connection = 100;
constexpr std::size_t sendfile_step_bytes = 256 * 1024;
// What a client may send behind its request without having waited for the answer.
constexpr std::size_t bytes_behind_head = 4 * 1024;

using FileResult = std::expected<StaticFile, TextResponse>;

TextResponse response_to(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::CapacityExceeded:
    case ErrorKind::ShuttingDown:
    case ErrorKind::Unavailable:
      return {503, to_string(error), {}};
    case ErrorKind::Rejected:
      return {403, to_string(error), {}};
    default:
      return {500, to_string(error), {}};
  }
}

// What is known of a connection; of a WebSocket, without what it asked for.
stream::LinkInfo info_of(const tcp::socket& socket, stream::LinkInfo::Framing framing) {
  stream::LinkInfo info;
  info.framing = framing;
  info.remote_address = peer_address(socket);
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (!error) info.remote_host = counted_host(endpoint.address());
  return info;
}

std::shared_ptr<AsioClientLink> new_link(Worker& worker, const Serving& serving) {
  return std::make_shared<AsioClientLink>(
      worker, serving.connections,
      AsioClientLink::Limits{serving.options.flush_time, serving.options.linger_time});
}

void log_refusal(const Serving& serving, const std::string& client, const Error& error) {
  serving.log.write(LogLevel::Info, "net", "client refused",
                    {{"client", client}, {"error", to_string(error)}});
}

// Without HTTP nothing is asked before the acceptor is, and a refusal has no words.
void become_link(Worker& worker, Serving& serving, tcp::socket socket) {
  const auto link = new_link(worker, serving);
  const stream::LinkInfo info = info_of(socket, serving.listen.framing);
  auto handler = serving.gate.admit(*link, info);
  if (!handler) return log_refusal(serving, info.remote_address, handler.error());
  if (!serving.connections->add_link(link)) link->abort();
  link->start(std::move(socket), {}, {}, std::move(*handler));
}

class Opening final : public Connection, public std::enable_shared_from_this<Opening> {
 public:
  Opening(Worker& worker, std::shared_ptr<Serving> serving, tcp::socket socket)
      : worker_(worker),
        counted_(worker),
        serving_(std::move(serving)),
        socket_(std::move(socket)),
        deadline_(worker.io()),
        buffer_(serving_->options.request_head_bytes + bytes_behind_head) {}

  asio::awaitable<void> run();
  void abort_connection() override;

 private:
  enum class Waiting { ForRequest, ForClientToRead, ForClientToClose };

  asio::awaitable<void> serve_requests();
  // The response to what is no request; nothing when the connection just ends.
  asio::awaitable<std::expected<RequestHead, std::optional<TextResponse>>> read_request();
  // Whether the socket has gone to a link.
  asio::awaitable<bool> become_link(const RequestHead& request);
  // Whether the connection can take another request.
  asio::awaitable<bool> serve_file(const RequestHead& request);
  asio::awaitable<FileResult> open_file(std::string path);
  asio::awaitable<bool> send_file(const StaticFile& file);
  asio::awaitable<bool> write(std::string text);
  asio::awaitable<void> close_gently();

  void allow(Duration time, Waiting waiting);

  Worker& worker_;
  const CountedOn counted_;
  const std::shared_ptr<Serving> serving_;
  tcp::socket socket_;
  asio::steady_timer deadline_;
  unsigned deadlines_ = 0;
  bool is_late_ = false;
  beast::flat_buffer buffer_;
};

asio::awaitable<void> Opening::run() {
  co_await serve_requests();
  deadline_.cancel();
  error_code ignored;
  socket_.close(ignored);
  serving_->connections->remove(*this);
}

void Opening::abort_connection() {
  worker_.post([self = shared_from_this()] {
    error_code ignored;
    self->socket_.close(ignored);
    self->deadline_.cancel();
  });
}

// Ends the wait when the time is over. A request that is late can still be answered; a client that
// does not read cannot.
void Opening::allow(Duration time, Waiting waiting) {
  is_late_ = false;
  deadline_.expires_after(time);
  deadline_.async_wait(
      [self = shared_from_this(), waiting, number = ++deadlines_](const error_code& cancelled) {
        if (cancelled || number != self->deadlines_) return;
        self->is_late_ = true;
        error_code ignored;
        if (waiting == Waiting::ForRequest) {
          self->socket_.shutdown(tcp::socket::shutdown_receive, ignored);
          return;
        }
        // With a reset: the system shall not keep what the client does not read either.
        if (waiting == Waiting::ForClientToRead) {
          self->socket_.set_option(tcp::socket::linger(true, 0), ignored);
        }
        self->socket_.close(ignored);
      });
}

asio::awaitable<void> Opening::serve_requests() {
  for (unsigned i = 0; i < requests_per_connection; ++i) {
    auto request = co_await read_request();
    if (!request) {
      if (!request.error()) co_return;
      co_await write(format_response(*request.error(), false, false));
      break;
    }
    if (request->path() == serving_->listen.path) {
      if (co_await become_link(*request)) co_return;
      break;
    }
    if (!co_await serve_file(*request)) break;
  }
  co_await close_gently();
}

asio::awaitable<std::expected<RequestHead, std::optional<TextResponse>>> Opening::read_request() {
  const auto& options = serving_->options;
  RequestParser parser;
  parser.header_limit(static_cast<std::uint32_t>(options.request_head_bytes));
  allow(options.opening_time, Waiting::ForRequest);
  auto [error, bytes] = co_await http::async_read_header(socket_, buffer_, parser, awaited);
  if (is_late_ && parser.got_some()) {
    co_return std::unexpected(TextResponse{408, "the request took too long", {}});
  }
  if (error == http::error::end_of_stream || is_late_ || !socket_.is_open() ||
      (error && error.category() == boost::system::system_category())) {
    co_return std::unexpected(std::nullopt);
  }
  if (error) co_return std::unexpected(refusal_of(error, options.request_head_bytes));
  co_return head_of(parser);
}

asio::awaitable<bool> Opening::become_link(const RequestHead& request) {
  auto accepted = judge_upgrade(request, serving_->listen);
  if (!accepted) {
    co_await write(format_response(accepted.error(), false, request.method == "HEAD"));
    co_return false;
  }
  const auto link = new_link(worker_, *serving_);
  stream::LinkInfo info = info_of(socket_, stream::LinkInfo::Framing::WebSocket);
  info.subprotocol = accepted->subprotocol;
  info.path = serving_->listen.path;
  auto handler = serving_->gate.admit(*link, info);
  if (!handler) {
    log_refusal(*serving_, info.remote_address, handler.error());
    co_await write(format_response(response_to(handler.error()), false, false));
    co_return false;
  }
  deadline_.cancel();
  if (!serving_->connections->add_link(link)) link->abort();
  const auto behind = buffer_.data();
  link->start(std::move(socket_), SharedBytes(to_bytes(accepted->response)),
              {static_cast<const std::byte*>(behind.data()), behind.size()}, std::move(*handler));
  co_return true;
}

asio::awaitable<bool> Opening::serve_file(const RequestHead& request) {
  const bool is_head = request.method == "HEAD";
  const bool keep_alive = request.wants_keep_alive && !request.has_body;
  if (request.version >= 11 && request.values("Host").size() != 1) {
    co_await write(format_response({400, "there must be one Host header", {}}, false, is_head));
    co_return false;
  }
  if (request.method != "GET" && !is_head) {
    co_await write(format_response(
        {405, "only GET and HEAD are answered here", {{"Allow", "GET, HEAD"}}}, false, false));
    co_return false;
  }
  auto found = co_await open_file(std::string(request.path()));
  if (!found) {
    co_return co_await write(format_response(found.error(), keep_alive, is_head)) && keep_alive;
  }
  auto headers = headers_of(*found);
  headers.push_back({"Connection", keep_alive ? "keep-alive" : "close"});
  if (is_current_at_client(request, *found)) {
    co_return co_await write(format_head(304, headers)) && keep_alive;
  }
  headers.push_back({"Content-Length", fmt::format("{}", found->bytes)});
  if (!co_await write(format_head(200, headers))) co_return false;
  if (!is_head && !co_await send_file(*found)) co_return false;
  co_return keep_alive;
}

// A worker of the pool must not wait for a disk.
asio::awaitable<FileResult> Opening::open_file(std::string path) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(FileResult)>(
      [this, path = std::move(path)](auto resume) {
        // The job must be copyable; what it carries is not.
        auto shared_resume = std::make_shared<decltype(resume)>(std::move(resume));
        const auto answer = [executor = socket_.get_executor(), shared_resume](FileResult result) {
          asio::post(executor, [shared_resume, result = std::move(result)]() mutable {
            (*shared_resume)(std::move(result));
          });
        };
        auto posted = serving_->workers.post(
            runtime::Workers::Pool::Io,
            [answer, serving = serving_, path] { answer(serving->files.open(path)); });
        if (!posted) answer(std::unexpected(response_to(posted.error())));
      },
      asio::use_awaitable);
}

asio::awaitable<bool> Opening::send_file(const StaticFile& file) {
  off_t offset = 0;
  const auto size = static_cast<off_t>(file.bytes);
  allow(serving_->options.response_time, Waiting::ForClientToRead);
  while (offset < size) {
    if (!socket_.is_open()) co_return false;
    const auto step = std::min(static_cast<std::size_t>(size - offset), sendfile_step_bytes);
    const ssize_t sent = sendfile(socket_.native_handle(), file.file.descriptor(), &offset, step);
    // A file that has shrunk ends the connection: the length has been promised.
    if (sent == 0 || (sent < 0 && errno != EAGAIN && errno != EINTR)) co_return false;
    // Also after a step that went through: others on this worker have their turn.
    auto [error] = co_await socket_.async_wait(tcp::socket::wait_write, awaited);
    if (error) co_return false;
  }
  co_return true;
}

asio::awaitable<bool> Opening::write(std::string text) {
  allow(serving_->options.response_time, Waiting::ForClientToRead);
  auto [error, bytes] = co_await asio::async_write(socket_, asio::buffer(text), awaited);
  co_return !error;
}

// Closing with requests unread makes the system send a reset, which can overtake the response.
asio::awaitable<void> Opening::close_gently() {
  error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  if (error) co_return;
  allow(serving_->options.linger_time, Waiting::ForClientToClose);
  for (;;) {
    const auto ignored = worker_.read_buffer();
    auto [wait_error] = co_await socket_.async_wait(tcp::socket::wait_read, awaited);
    if (wait_error) co_return;
    const ssize_t got = recv(socket_.native_handle(), ignored.data(), ignored.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) co_return;
  }
}

}  // namespace

void begin_opening(Worker& worker, std::shared_ptr<Serving> serving, tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.native_non_blocking(true, ignored);
  if (serving->listen.framing == stream::LinkInfo::Framing::LengthPrefixed) {
    worker.post([&worker, serving = std::move(serving), socket = std::move(socket)]() mutable {
      become_link(worker, *serving, std::move(socket));
    });
    return;
  }
  const auto opening = std::make_shared<Opening>(worker, serving, std::move(socket));
  if (!serving->connections->add_opening(opening)) return;
  asio::co_spawn(worker.io(), [opening] { return opening->run(); }, asio::detached);
}

}  // namespace spotmesh::net
