// A server on 127.0.0.1 that says what a test wants, without any protocol of its own. One thread:
// the client is polled in between.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace spotmesh::testing {

class HostileServer {
 public:
  HostileServer() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, any, size) != 0 || ::listen(listener_, 8) != 0 ||
        getsockname(listener_, any, &size) != 0) {
      throw std::runtime_error("cannot listen on 127.0.0.1");
    }
    port_ = ntohs(address.sin_port);
  }
  ~HostileServer() {
    close();
    ::close(listener_);
  }
  HostileServer(const HostileServer&) = delete;
  HostileServer& operator=(const HostileServer&) = delete;

  std::uint16_t port() const { return port_; }

  // Whether a client has come; it is the one that all below is about.
  bool accept() {
    pollfd polled{.fd = listener_, .events = POLLIN, .revents = 0};
    if (descriptor_ < 0 && ::poll(&polled, 1, 0) == 1) {
      descriptor_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    }
    return descriptor_ >= 0;
  }
  // What has come from the client since the first byte.
  const std::string& heard() {
    std::array<char, 4096> buffer;
    ssize_t got = 0;
    while ((got = recv(descriptor_, buffer.data(), buffer.size(), 0)) > 0) {
      heard_.append(buffer.data(), static_cast<std::size_t>(got));
    }
    if (got == 0) is_left_ = true;
    return heard_;
  }
  // As much as fits now; how much that was.
  std::size_t say(std::string_view bytes) {
    const ssize_t said = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return said > 0 ? static_cast<std::size_t>(said) : 0;
  }
  bool is_left() {
    heard();
    return is_left_;
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int listener_;
  int descriptor_ = -1;
  std::uint16_t port_ = 0;
  std::string heard_;
  bool is_left_ = false;
};

}  // namespace spotmesh::testing
