#include "net/tcp_socket.hpp"

#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <cerrno>

namespace spotmesh::net {

using boost::asio::ip::tcp;
using boost::system::error_code;

static constexpr int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;

int new_tcp_socket(const tcp& protocol) {
  return ::socket(protocol.family(), protocol.type() | flags, protocol.protocol());
}

int accept_tcp_socket(int listening) { return ::accept4(listening, nullptr, nullptr, flags); }

error_code last_error() { return {errno, boost::system::system_category()}; }

bool is_shortage(const error_code& error) {
  return error == boost::asio::error::no_descriptors || error.value() == ENFILE ||
         error == boost::asio::error::no_buffer_space || error == boost::asio::error::no_memory;
}

}  // namespace spotmesh::net
