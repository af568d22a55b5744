#include "cli/admin_url.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/terminal_text.hpp"

namespace spotmesh::cli {
namespace {

constexpr std::string_view scheme = "http://";

bool read_port(std::string_view text, std::uint16_t& port) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

}  // namespace

Result<AdminUrl> parse_admin_url(std::string_view url) {
  const auto wrong = [url](std::string_view what) {
    return fail(Error::invalid_operation(
        fmt::format("{} {}; an admin endpoint is http://HOST:PORT", shown(url), what)));
  };
  if (!std::ranges::all_of(url, [](char c) { return c > ' ' && c < '\x7f'; })) {
    return wrong("has a space or a character that no address has");
  }
  if (url.starts_with("https://")) return wrong("is of TLS, which this command does not speak");
  if (!url.starts_with(scheme)) return wrong("does not begin with http://");
  std::string_view rest = url.substr(scheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.find_first_of("/?#@") != rest.npos) return wrong("has more than a host and a port");
  AdminUrl parsed;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == rest.npos) return wrong("has a bracket that is not closed");
    parsed.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    parsed.host = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  if (parsed.host.empty()) return wrong("names no host");
  if (!rest.empty() && (!rest.starts_with(':') || !read_port(rest.substr(1), parsed.port))) {
    return wrong("has no port from 1 to 65535 behind its host");
  }
  const bool has_colons = parsed.host.find(':') != std::string::npos;
  parsed.authority = fmt::format("{}{}{}:{}", has_colons ? "[" : "", parsed.host,
                                 has_colons ? "]" : "", parsed.port);
  return parsed;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '~';
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace spotmesh::cli
