#include "client/client_url.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace spotmesh::client {

namespace {

constexpr std::string_view web_socket_scheme = "ws://";
constexpr std::string_view tcp_scheme = "tcp://";

// What goes into a request must not end its line.
bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

// HOST or [HOST], and what is behind it.
struct HostAndRest {
  std::string_view host;
  std::string_view rest;
};

HostAndRest split_host(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return {};
    return {authority.substr(1, end - 1), authority.substr(end + 1)};
  }
  const std::size_t end = std::min(authority.find(':'), authority.size());
  return {authority.substr(0, end), authority.substr(end)};
}

bool read_port(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

}  // namespace

Result<ClientUrl> parse_client_url(std::string_view url) {
  const auto wrong = [url](std::string_view what) {
    return fail(Error::invalid_operation(
        fmt::format("'{}' {}; an address is ws://HOST:PORT/PATH or tcp://HOST:PORT", url, what)));
  };
  if (!is_visible(url)) return wrong("has a space or a control character");
  ClientUrl parsed;
  if (url.starts_with(web_socket_scheme)) {
    url.remove_prefix(web_socket_scheme.size());
  } else if (url.starts_with(tcp_scheme)) {
    parsed.is_web_socket = false;
    url.remove_prefix(tcp_scheme.size());
  } else {
    return wrong("does not begin with ws:// or tcp://");
  }
  const std::size_t slash = std::min(url.find('/'), url.size());
  const std::string_view authority = url.substr(0, slash);
  const std::string_view path = url.substr(slash);
  if (!path.empty() && !parsed.is_web_socket) return wrong("has a path, of which TCP knows none");
  if (path.contains('#')) return wrong("has a fragment, which no server is told");
  if (!path.empty()) parsed.path = path;
  const auto [host, rest] = split_host(authority);
  if (host.empty()) return wrong("names no host");
  parsed.host = host;
  if (rest.empty() && !parsed.is_web_socket) return wrong("names no port");
  if (!rest.empty() && (!rest.starts_with(':') || !read_port(rest.substr(1), parsed.port))) {
    return wrong("has no port from 1 to 65535 behind its host");
  }
  parsed.authority = fmt::format("{}{}{}:{}", host.contains(':') ? "[" : "", host,
                                 host.contains(':') ? "]" : "", parsed.port);
  return parsed;
}

}  // namespace spotmesh::client
