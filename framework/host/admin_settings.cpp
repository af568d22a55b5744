#include "host/admin_settings.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "host/admin_access.hpp"

namespace spotmesh::host {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_port = fault == std::errc() && end == text.data() + text.size();
  return is_port ? std::optional(port) : std::nullopt;
}

bool is_address(int family, const std::string& text) {
  in6_addr room{};  // of either family
  return text.find('\0') == text.npos && inet_pton(family, text.c_str(), &room) == 1;
}

}  // namespace

std::optional<AdminAddress> parse_admin_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return {};
  const auto port = parse_port(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) host = host.substr(1, host.size() - 2);
  const std::string address(host == "localhost" && !has_brackets ? "127.0.0.1" : host);
  if (!port || !is_address(has_brackets ? AF_INET6 : AF_INET, address)) return {};
  return AdminAddress{address, *port};
}

AdminSettings read_admin_settings(Settings& settings) {
  const std::string listen = settings.text(
      "admin.listen", "127.0.0.1:9464",
      [](std::string_view text) { return text.empty() || parse_admin_address(text).has_value(); },
      "\"address:port\" with an IP address or localhost, [in brackets] if it is of IPv6; port 0 "
      "means any free one; \"\" means no endpoint",
      "where operators reach this node");
  AdminSettings admin;
  admin.token = settings.secret("admin.token", "what operators show to be let in");
  if (listen.empty()) return admin;
  const auto where = parse_admin_address(listen);
  admin.address = where->address;
  admin.port = where->port;
  if (admin.token.empty() && !is_loopback_address(admin.address)) {
    throw ConfigurationError(fmt::format(
        "{}: admin.listen = '{}' lets other machines in, for which a token must be set: in the "
        "file that admin.token_file names, or in SPOTMESH_ADMIN_TOKEN",
        settings.origin("admin.listen"), listen));
  }
  return admin;
}

}  // namespace spotmesh::host
