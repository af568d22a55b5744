#include "host/admin_access.hpp"

#include <arpa/inet.h>

#include <cstddef>

namespace spotmesh::host {
namespace {

// The host of "host", "host:port" or "[v6]:port".
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    return end == authority.npos ? std::string_view() : authority.substr(1, end - 1);
  }
  return authority.substr(0, authority.find(':'));
}

std::optional<AdminRefusal> judge_token(const net::RequestHead& request, std::string_view token) {
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view shown = request.single_value("Authorization");
  if (shown.empty()) {
    return AdminRefusal{401,
                        "this endpoint needs the header 'Authorization: Bearer <token>', with "
                        "the token of admin.token_file"};
  }
  if (shown.size() < scheme.size() ||
      !net::equal_ignoring_case(shown.substr(0, scheme.size()), scheme)) {
    return AdminRefusal{401, "the header Authorization is not 'Bearer <token>'"};
  }
  if (!equal_in_constant_time(shown.substr(scheme.size()), token)) {
    return AdminRefusal{401, "the token is not the one of this server"};
  }
  return {};
}

std::optional<AdminRefusal> judge_origin(const net::RequestHead& request) {
  const auto hosts = request.values("Host");
  const bool is_old = request.version < 11;
  if (hosts.size() != 1 && !(is_old && hosts.empty())) {
    return AdminRefusal{400, "a request has exactly one header Host"};
  }
  const std::string_view authority = request.single_value("Host");
  const std::string_view host = host_of(authority);
  const bool is_local = net::equal_ignoring_case(host, "localhost") || is_loopback_address(host);
  if (!is_local && !hosts.empty()) {
    return AdminRefusal{403,
                        "the header Host names another host than this one; without a token, "
                        "only localhost, 127.0.0.1 and [::1] are answered"};
  }
  for (const std::string_view origin : request.values("Origin")) {
    if (net::equal_ignoring_case(origin, "http://" + std::string(authority))) continue;
    return AdminRefusal{403, "pages of other origins may not use this endpoint"};
  }
  // Browsers name no Origin when a page shows this endpoint as a picture, a frame or a script.
  for (const std::string_view site : request.values("Sec-Fetch-Site")) {
    if (site == "none" || site == "same-origin") continue;
    return AdminRefusal{403,
                        "pages of other origins may not use this endpoint, nor lead to it: type "
                        "its address"};
  }
  return {};
}

}  // namespace

std::optional<AdminRefusal> judge_admin_access(const net::RequestHead& request,
                                               std::string_view token) {
  return token.empty() ? judge_origin(request) : judge_token(request, token);
}

bool equal_in_constant_time(std::string_view shown, std::string_view expected) {
  // Volatile, so that no compiler finds a way to know the end before it.
  volatile unsigned difference = shown.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto a = static_cast<unsigned char>(shown.empty() ? '\0' : shown[i % shown.size()]);
    difference = difference | (a ^ static_cast<unsigned char>(expected[i]));
  }
  return difference == 0;
}

bool is_loopback_address(std::string_view address) {
  const std::string text(address);
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, text.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace spotmesh::host
