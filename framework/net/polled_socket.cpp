#include "net/polled_socket.hpp"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::net {

namespace {

std::string text_of(int error) { return std::generic_category().message(error); }

bool would_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Result<PolledSocket> PolledSocket::connect(const std::string& host, std::uint16_t port) {
  PolledSocket socket;
  socket.where_ = fmt::format("{}:{}", host, port);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) {
    return fail(Error::unavailable(
        fmt::format("{} has no address: {}", socket.where_, gai_strerror(failed))));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, &freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Address address;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
    socket.addresses_.push_back(address);
  }
  if (auto begun = socket.try_next(EADDRNOTAVAIL); !begun) return fail(begun.error());
  return socket;
}

PolledSocket::PolledSocket(PolledSocket&& other) noexcept
    : where_(std::move(other.where_)),
      addresses_(std::move(other.addresses_)),
      next_address_(other.next_address_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_connected_(other.is_connected_) {}

PolledSocket& PolledSocket::operator=(PolledSocket&& other) noexcept {
  std::swap(where_, other.where_);
  std::swap(addresses_, other.addresses_);
  std::swap(next_address_, other.next_address_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_connected_, other.is_connected_);
  return *this;
}

PolledSocket::~PolledSocket() { close(); }

void PolledSocket::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

Error PolledSocket::failure(int error) const {
  return Error::unavailable(is_connected_
                                ? "the connection has ended: " + text_of(error)
                                : fmt::format("cannot connect to {}: {}", where_, text_of(error)));
}

Result<void> PolledSocket::try_next(int error) {
  close();
  while (next_address_ < addresses_.size()) {
    error = begin(addresses_[next_address_++]);
    if (error == 0) return {};
    close();
  }
  return fail(failure(error));
}

int PolledSocket::begin(const Address& address) {
  // A program that the caller starts must not keep the connection open.
  descriptor_ =
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  if (descriptor_ < 0) return errno;
  const int at_once = 1;
  setsockopt(descriptor_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  const auto* target = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(descriptor_, target, address.size) == 0 || errno == EINPROGRESS) return 0;
  return errno;
}

void PolledSocket::wait(bool wants_write, Duration timeout) {
  pollfd polled{.fd = descriptor_, .events = POLLIN, .revents = 0};
  if (wants_write || !is_connected_) polled.events |= POLLOUT;
  const auto nanoseconds = std::max(Duration(0), timeout).count();
  const timespec limit{.tv_sec = nanoseconds / 1'000'000'000,
                       .tv_nsec = nanoseconds % 1'000'000'000};
  // A signal ends the wait as well: whoever polls asks again.
  ppoll(&polled, 1, &limit, nullptr);
}

Result<bool> PolledSocket::is_connected() {
  while (!is_connected_) {
    pollfd polled{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    if (poll(&polled, 1, 0) <= 0) return false;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) {
      is_connected_ = true;
    } else if (auto next = try_next(error); !next) {
      return fail(next.error());
    }
  }
  return true;
}

Result<std::size_t> PolledSocket::read(std::span<std::byte> buffer) {
  const ssize_t got = recv(descriptor_, buffer.data(), buffer.size(), 0);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got == 0) return fail(Error::unavailable("the server has ended the connection"));
  if (would_wait(errno)) return 0;
  return fail(failure(errno));
}

Result<std::size_t> PolledSocket::write(ByteView bytes) {
  const ssize_t taken = send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (taken >= 0) return static_cast<std::size_t>(taken);
  if (would_wait(errno)) return 0;
  return fail(failure(errno));
}

}  // namespace spotmesh::net
