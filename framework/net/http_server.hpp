// HttpServer: a small, bounded HTTP/1.1 server on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/log.hpp"
#include "net/http_exchange.hpp"

namespace spotmesh::net {

struct HttpServerOptions {
  std::string address = "127.0.0.1";  // of IPv4 or IPv6, no name
  std::uint16_t port = 0;             // 0: any free one
  std::size_t head_bytes = 8 * 1024;
  // One more pushes out the oldest that is not being answered.
  std::size_t connections = 64;
  // Requests under way; one more is told 503. A request that nobody waits for any more counts until
  // its exchange is let go of, so that asking and going away is no way around it.
  std::size_t exchanges = 32;
  unsigned requests_per_connection = 1000;
  // From the connection, or the last response on it, to a whole request head.
  Duration request_time = std::chrono::seconds(10);
  Duration answer_time = std::chrono::seconds(5);  // for the handler
  Duration write_time = std::chrono::seconds(10);  // for the client to take the response
  Duration linger_time = std::chrono::seconds(1);  // for the client to close after us
  Duration tunnel_interval = std::chrono::seconds(10);
  Duration accept_pause = std::chrono::milliseconds(100);  // while the system has no descriptors
};

// For operators, not for players: it is there also when every worker thread is stuck. Requests on
// one connection are answered in order; a body is refused.
class HttpServer {
 public:
  // `handler` and `log` outlive it; an exchange may outlive them all.
  HttpServer(HttpServerOptions options, HttpHandler& handler, LogSink& log);
  ~HttpServer();  // stop()
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Binds and starts the thread; the value is the port. Unavailable, naming the address, when it
  // cannot be bound. Once.
  Result<std::uint16_t> start();
  // Ends every connection and the thread. The handler is called no more when it has returned. Not
  // from the handler.
  void stop();

  std::size_t connections() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace spotmesh::net
