#include "net/request_parser.hpp"

#include <fmt/format.h>

#include <boost/beast/http/error.hpp>
#include <string>

namespace spotmesh::net {

namespace http = boost::beast::http;

RequestHead head_of(const RequestParser& parser) {
  const auto& request = parser.get();
  RequestHead head;
  head.method = std::string(request.method_string());
  head.target = std::string(request.target());
  head.version = request.version();
  for (const auto& field : request) {
    head.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  head.has_body = parser.chunked() || parser.content_length().value_or(0) != 0;
  head.wants_keep_alive = request.keep_alive();
  return head;
}

TextResponse refusal_of(const boost::system::error_code& error, std::size_t head_limit) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return {431, fmt::format("a request head has at most {} bytes", head_limit), {}};
  }
  if (error == http::error::body_limit) return {413, "a request has no body here", {}};
  return {400, "this is no HTTP request", {}};
}

}  // namespace spotmesh::net
