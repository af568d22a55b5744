// The little of HTTP that the listener needs, without Beast, so that what decides about requests
// can be read and tested by itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spotmesh::net {

struct HttpHeader {
  std::string name;
  std::string value;
};

struct RequestHead {
  std::string method;     // "GET"
  std::string target;     // as it was sent, query included
  unsigned version = 11;  // 10 for HTTP/1.0, 11 for HTTP/1.1
  std::vector<HttpHeader> headers;
  bool has_body = false;
  bool wants_keep_alive = true;

  // The target up to its query.
  std::string_view path() const;
  // The values of all headers of that name, in order; names have no case.
  std::vector<std::string_view> values(std::string_view name) const;
  // The only value, trimmed of white space; nothing when there is none or more than one.
  std::string_view single_value(std::string_view name) const;
  // The comma-separated items of all headers of that name, trimmed, without empty ones.
  std::vector<std::string_view> items(std::string_view name) const;
  // Whether one of the items is `item`, in whatever case.
  bool has_item(std::string_view name, std::string_view item) const;
};

// A response whose body is a short text.
struct TextResponse {
  unsigned status = 200;
  std::string text;
  std::vector<HttpHeader> headers;  // besides Content-Type, Content-Length and Connection
};

bool equal_ignoring_case(std::string_view a, std::string_view b);

std::string_view reason_phrase(unsigned status);

// Status line and headers up to and including the empty line.
std::string format_head(unsigned status, const std::vector<HttpHeader>& headers);
// The whole response. A response to HEAD has the headers of the body and no body.
std::string format_response(const TextResponse& response, bool keep_alive, bool is_head);

}  // namespace spotmesh::net
