// How the other end of a connection is called. Inside this module only: it shows Asio.
#pragma once

#include <string>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace spotmesh::net {

// "127.0.0.1:51234", "[::1]:51234"; "unknown" for a socket that is not connected any more.
std::string peer_address(const boost::asio::ip::tcp::socket& socket);

// By which connections are counted, as LinkInfo::remote_host has it: "127.0.0.1",
// "2001:db8:1:2::/64". IPv4 behind an IPv6 listener is IPv4; the loopback address of IPv6 is "::1".
std::string counted_host(const boost::asio::ip::address& address);

}  // namespace spotmesh::net
