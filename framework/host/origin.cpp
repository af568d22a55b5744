#include "host/origin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace spotmesh::host {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_scheme(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
}

// Names in other alphabets are sent in their ASCII form, xn--…
bool is_host(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == ':';
  });
}

// The port behind the host with its colon, or nothing.
std::string_view port_part(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  const std::size_t bracket = authority.rfind(']');
  if (colon == authority.npos || (bracket != authority.npos && colon < bracket)) return {};
  return authority.substr(colon);
}

bool is_default_port(std::string_view scheme, std::string_view port) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> known{
      {{"http", ":80"}, {"https", ":443"}}};
  return std::ranges::find(known, std::pair(scheme, port)) != known.end();
}

}  // namespace

Result<void> validate_origin(std::string_view origin) {
  const auto refuse = [origin](std::string_view reason) {
    return fail(Error::invalid_operation(fmt::format(
        "'{}' is no origin: {}; write it like \"https://game.example\"", origin, reason)));
  };
  if (origin == "null") return {};  // pages from a file
  if (origin == "*") return refuse("leave the list empty to let any page connect");
  const std::size_t end = origin.find("://");
  if (end == origin.npos || !is_scheme(origin.substr(0, end))) {
    return refuse("it does not begin with a scheme such as https://");
  }
  const std::string_view authority = origin.substr(end + 3);
  if (authority.find_first_of("/?#") != authority.npos) return refuse("it has a path");
  const std::string_view port = port_part(authority);
  if (!is_host(authority.substr(0, authority.size() - port.size()))) {
    return refuse("browsers send no such host");
  }
  if (!port.empty() &&
      (port.size() == 1 || port.size() > 6 || !std::ranges::all_of(port.substr(1), is_digit))) {
    return refuse("the port is no number");
  }
  if (is_default_port(origin.substr(0, end), port)) {
    return refuse(fmt::format("browsers leave {} out", port));
  }
  return {};
}

}  // namespace spotmesh::host
