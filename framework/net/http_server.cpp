#include "net/http_server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <list>
#include <thread>
#include <utility>

#include "net/http_connection.hpp"
#include "net/tcp_socket.hpp"
#include "net/thread_setup.hpp"

namespace spotmesh::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class HttpServer::State {
 public:
  State(HttpServerOptions options, HttpHandler& handler, LogSink& log)
      : options_(std::move(options)), handler_(handler), log_(log) {}

  Result<std::uint16_t> start() {
    error_code error;
    const auto address = asio::ip::make_address(options_.address, error);
    if (!error) open({address, options_.port}, error);
    if (error) {
      const bool is_v6 = options_.address.find(':') != std::string::npos;
      return fail(Error::unavailable(fmt::format(
          "cannot listen on {}:{}: {}", is_v6 ? "[" + options_.address + "]" : options_.address,
          options_.port, error.message())));
    }
    const std::uint16_t port = acceptor_.local_endpoint(error).port();
    accept_next();
    thread_ = start_thread("spotmesh-admin", [this] { loop_->io.run(); });
    return port;
  }

  void stop() {
    if (!thread_.joinable()) return;
    asio::post(loop_->io, [this] {
      is_stopping_ = true;
      error_code ignored;
      acceptor_.close(ignored);
      pause_.cancel();
      for (const auto& connection : connections_) connection->abort();
      keep_running_.reset();
    });
    thread_.join();
  }

  std::size_t connections() const { return count_.load(); }

 private:
  void open(const tcp::endpoint& where, error_code& error) {
    protocol_ = where.protocol();
    const int descriptor = new_tcp_socket(protocol_);
    if (descriptor < 0) {
      error = last_error();
      return;
    }
    acceptor_.assign(protocol_, descriptor, error);
    if (error) {
      ::close(descriptor);
      return;
    }
    acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(where, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  }

  void accept_next() {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](const error_code& error) {
      if (!error && !is_stopping_) accept();
    });
  }

  void accept() {
    const int descriptor = accept_tcp_socket(acceptor_.native_handle());
    if (descriptor < 0) {
      // Any other error is that of one connection that ended before it was accepted.
      return is_shortage(last_error()) ? pause() : accept_next();
    }
    is_paused_ = false;
    tcp::socket socket(loop_->io);
    error_code error;
    socket.assign(protocol_, descriptor, error);
    if (error) {
      ::close(descriptor);
    } else if (make_room()) {
      add(std::move(socket));
    }
    accept_next();
  }

  // Accepting on would fail again at once and burn a processor.
  void pause() {
    if (!std::exchange(is_paused_, true)) {
      log_.write(LogLevel::Error, "net",
                 "no admin connection can be accepted; raise the limit of open files", {});
    }
    pause_.expires_after(options_.accept_pause);
    pause_.async_wait([this](const error_code& cancelled) {
      if (!cancelled && !is_stopping_) accept_next();
    });
  }

  bool make_room() {
    if (connections_.size() < options_.connections) return true;
    const auto oldest = std::ranges::find_if(
        connections_, [](const auto& connection) { return !connection->is_answering(); });
    if (oldest == connections_.end()) return false;
    (*oldest)->abort();
    // It no longer counts, though it takes a moment until it is gone.
    leaving_.splice(leaving_.end(), connections_, oldest);
    return true;
  }

  void add(tcp::socket socket) {
    const auto connection =
        std::make_shared<HttpConnection>(loop_, options_, handler_, std::move(socket));
    connections_.push_back(connection);
    ++count_;
    connection->start([this, ended = connection.get()] {
      const auto is_it = [ended](const auto& each) { return each.get() == ended; };
      if (connections_.remove_if(is_it) == 0) leaving_.remove_if(is_it);
      --count_;
    });
  }

  const HttpServerOptions options_;
  HttpHandler& handler_;
  LogSink& log_;
  const std::shared_ptr<HttpLoop> loop_ = std::make_shared<HttpLoop>();
  asio::executor_work_guard<asio::io_context::executor_type> keep_running_{
      loop_->io.get_executor()};
  tcp::acceptor acceptor_{loop_->io};
  tcp protocol_ = tcp::v4();
  asio::steady_timer pause_{loop_->io};
  bool is_paused_ = false;
  bool is_stopping_ = false;
  // Oldest first. Those that were pushed out leave by themselves.
  std::list<std::shared_ptr<HttpConnection>> connections_;
  std::list<std::shared_ptr<HttpConnection>> leaving_;
  std::atomic<std::size_t> count_{0};
  std::thread thread_;
};

HttpServer::HttpServer(HttpServerOptions options, HttpHandler& handler, LogSink& log)
    : state_(std::make_unique<State>(std::move(options), handler, log)) {}

HttpServer::~HttpServer() { stop(); }

Result<std::uint16_t> HttpServer::start() { return state_->start(); }

void HttpServer::stop() { state_->stop(); }

std::size_t HttpServer::connections() const { return state_->connections(); }

}  // namespace spotmesh::net
