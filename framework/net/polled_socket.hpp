// PolledSocket: the client end of a TCP connection that never waits but where it is told to.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh::net {

// For one thread at a time. Its errors are Unavailable, and say what the system said; after one the
// connection is over.
class PolledSocket {
 public:
  // Begins to connect to the first of the host's addresses; waits for the name service if it is a
  // name. Unavailable: the host has no address.
  static Result<PolledSocket> connect(const std::string& host, std::uint16_t port);

  PolledSocket(PolledSocket&& other) noexcept;
  PolledSocket& operator=(PolledSocket&& other) noexcept;
  ~PolledSocket();

  // Waits until there is something to read, the connection is decided, or with `wants_write` there
  // is room to write; for at most `timeout`.
  void wait(bool wants_write, Duration timeout);

  // Whether the connection is there. While it is not, tries the host's other addresses, one after
  // the other; the error is that of the last.
  Result<bool> is_connected();
  // How much has come of what `buffer` has room for; 0 when there is nothing now. The end of the
  // stream is an error.
  Result<std::size_t> read(std::span<std::byte> buffer);
  // How much was taken; 0 when there is no room now.
  Result<std::size_t> write(ByteView bytes);
  void close();

 private:
  struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
  };

  PolledSocket() = default;
  // Begins with the next address. The error of the last one when there is none left.
  Result<void> try_next(int error);
  int begin(const Address& address);
  Error failure(int error) const;

  std::string where_;
  std::vector<Address> addresses_;
  std::size_t next_address_ = 0;
  int descriptor_ = -1;
  bool is_connected_ = false;
};

}  // namespace spotmesh::net
