#include "net/peer_names.hpp"

#include <algorithm>

#include "net/host_and_port.hpp"

namespace spotmesh::net {

namespace ip = boost::asio::ip;
using boost::system::error_code;

std::string peer_address(const ip::tcp::socket& socket) {
  error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "unknown";
  return to_string({endpoint.address().to_string(), endpoint.port()});
}

std::string counted_host(const ip::address& address) {
  if (address.is_v4() || address.is_loopback()) return address.to_string();
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
  // Whoever has one address of a network of 64 bits has all of them.
  auto bytes = v6.to_bytes();
  std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), 0);
  return ip::address_v6(bytes).to_string() + "/64";
}

}  // namespace spotmesh::net
