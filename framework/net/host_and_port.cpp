#include "net/host_and_port.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <system_error>

namespace spotmesh::net {

std::optional<HostAndPort> parse_host_and_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || is_bracketed != host.contains(':')) return std::nullopt;
  if (host.find_first_of("[]") != host.npos) return std::nullopt;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return HostAndPort{std::string(host), port};
}

bool is_unspecified(const HostAndPort& address) {
  boost::system::error_code error;
  const auto parsed = boost::asio::ip::make_address(address.host, error);
  return !error && parsed.is_unspecified();
}

std::string to_string(const HostAndPort& address) {
  return address.host.contains(':') ? fmt::format("[{}]:{}", address.host, address.port)
                                    : fmt::format("{}:{}", address.host, address.port);
}

}  // namespace spotmesh::net
