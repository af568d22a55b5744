#include "net/http_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace spotmesh::net {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

}  // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view RequestHead::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::vector<std::string_view> RequestHead::values(std::string_view name) const {
  std::vector<std::string_view> found;
  for (const HttpHeader& header : headers) {
    if (equal_ignoring_case(header.name, name)) found.push_back(header.value);
  }
  return found;
}

std::string_view RequestHead::single_value(std::string_view name) const {
  const auto all = values(name);
  return all.size() == 1 ? trimmed(all[0]) : std::string_view{};
}

std::vector<std::string_view> RequestHead::items(std::string_view name) const {
  std::vector<std::string_view> found;
  for (std::string_view rest : values(name)) {
    while (!rest.empty()) {
      const auto comma = std::min(rest.find(','), rest.size());
      const auto item = trimmed(rest.substr(0, comma));
      if (!item.empty()) found.push_back(item);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return found;
}

bool RequestHead::has_item(std::string_view name, std::string_view item) const {
  const auto all = items(name);
  return std::any_of(all.begin(), all.end(), [item](std::string_view candidate) {
    return equal_ignoring_case(candidate, item);
  });
}

std::string_view reason_phrase(unsigned status) {
  switch (status) {
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 426:
      return "Upgrade Required";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    default:
      return "Unknown";
  }
}

std::string format_head(unsigned status, const std::vector<HttpHeader>& headers) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_phrase(status));
  for (const HttpHeader& header : headers) {
    fmt::format_to(std::back_inserter(head), "{}: {}\r\n", header.name, header.value);
  }
  head += "\r\n";
  return head;
}

std::string format_response(const TextResponse& response, bool keep_alive, bool is_head) {
  std::vector<HttpHeader> headers = response.headers;
  const std::string body = response.text + "\n";
  headers.push_back({"Content-Type", "text/plain; charset=utf-8"});
  headers.push_back({"Content-Length", fmt::format("{}", body.size())});
  headers.push_back({"Connection", keep_alive ? "keep-alive" : "close"});
  std::string text = format_head(response.status, headers);
  if (!is_head) text += body;
  return text;
}

}  // namespace spotmesh::net
