// What an HttpServer and its handler say to each other.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_message.hpp"

namespace spotmesh::net {

struct HttpResponse {
  unsigned status = 200;
  std::string content_type;
  std::string body;
  std::vector<HttpHeader> headers;  // besides Content-Type, Content-Length and Connection
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
