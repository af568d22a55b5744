// What an HttpServer and its handler say to each other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/bytes.hpp>

#include "net/http_message.hpp"

namespace spotmesh::net {

// What becomes of a connection after a response of status 101: bytes both ways, as fast as the
// client takes them. Calls come one at a time, on the server's thread, which they must not hold up.
class HttpTunnel {
 public:
  virtual ~HttpTunnel() = default;
  // First of all. `wake` may be called from any thread, as often as there may be something to take.
  virtual void on_open(std::function<void()> wake) = 0;
  virtual void on_bytes(ByteView bytes) = 0;
  // What the client is to be sent next, some KiB; nothing: nothing at present. Asked again when the
  // client has taken it all.
  virtual Bytes take() = 0;
  // Nothing follows what has been taken: the connection is closed.
  virtual bool has_ended() const = 0;
  // Every HttpServerOptions::tunnel_interval, while nothing is being sent.
  virtual void on_interval() = 0;
  // The last call, however it came to that.
  virtual void on_closed() = 0;
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type;
  std::string body;
  std::vector<HttpHeader> headers;  // besides Content-Type, Content-Length and Connection
  // Of 101, which has neither body nor headers but those above.
  std::shared_ptr<HttpTunnel> tunnel;
};

// One request that waits for its one response. Whoever lets go of it without a word leaves the
// response to HttpHandler::on_no_answer().
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  // Any thread, also when the server has ended. Only the first response counts, and only if the
  // time for it is not over.
  virtual void respond(HttpResponse response) = 0;
  // "127.0.0.1:51234", for logs.
  virtual const std::string& remote_address() const = 0;
};

// Calls come one at a time, on the server's thread, which they must not hold up.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // A request without a body.
  virtual void on_request(const RequestHead& request, std::shared_ptr<HttpExchange> exchange) = 0;
  // The response to a request that nobody has answered in time, or that everybody has let go of.
  virtual HttpResponse on_no_answer(const RequestHead& request) = 0;
  // The response to what is refused before it is a request.
  virtual HttpResponse refusal(unsigned status, std::string_view text) = 0;
};

}  // namespace spotmesh::net
