// What every TCP socket of a server has in common. Inside this module only: it shows Asio.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

namespace spotmesh::net {

// A descriptor that does not block, or -1 with errno. A program that the game starts does not
// inherit it: it would keep the port and the connections after this server has gone.
int new_tcp_socket(const boost::asio::ip::tcp& protocol);
// The next connection of a listening descriptor, likewise.
int accept_tcp_socket(int listening);
// Of errno.
boost::system::error_code last_error();
// Whether the system has no room for another connection, rather than that one had a fault.
bool is_shortage(const boost::system::error_code& error);

}  // namespace spotmesh::net
