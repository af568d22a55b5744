#include "support/blocking_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace spotmesh::testing {

namespace {

constexpr int patience_seconds = 30;

}  // namespace

BlockingClient::BlockingClient(std::uint16_t port) {
  const int created = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (created < 0) return;
  const timeval patience{patience_seconds, 0};
  setsockopt(created, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(created, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  const int on = 1;
  setsockopt(created, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(created, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    descriptor_ = created;
  } else {
    ::close(created);
  }
}

BlockingClient::BlockingClient(BlockingClient&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), kept_(std::move(other.kept_)) {}

BlockingClient::~BlockingClient() { close(); }

bool BlockingClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string BlockingClient::receive_some() {
  if (!kept_.empty()) return std::exchange(kept_, {});
  std::array<char, 64 * 1024> buffer;
  ssize_t got = 0;
  do {
    got = recv(descriptor_, buffer.data(), buffer.size(), 0);
  } while (got < 0 && errno == EINTR);
  return got <= 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(got));
}

std::string BlockingClient::receive_until(std::string_view mark) {
  std::string received;
  for (;;) {
    const std::string some = receive_some();
    if (some.empty()) return received;
    received += some;
    const auto at = received.find(mark);
    if (at == std::string::npos) continue;
    kept_ = received.substr(at + mark.size());
    received.resize(at + mark.size());
    return received;
  }
}

std::string BlockingClient::receive_exactly(std::size_t bytes) {
  std::string received;
  while (received.size() < bytes) {
    const std::string some = receive_some();
    if (some.empty()) return received;
    received += some;
  }
  kept_ = received.substr(bytes);
  received.resize(bytes);
  return received;
}

std::string BlockingClient::receive_all() {
  std::string received;
  for (std::string some = receive_some(); !some.empty(); some = receive_some()) received += some;
  return received;
}

bool BlockingClient::is_closed_by_server() {
  kept_.clear();
  std::array<char, 64 * 1024> buffer;
  for (;;) {
    const ssize_t got = recv(descriptor_, buffer.data(), buffer.size(), 0);
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return errno == ECONNRESET || errno == EPIPE;
  }
}

void BlockingClient::finish_sending() { shutdown(descriptor_, SHUT_WR); }

void BlockingClient::reset() {
  const linger at_once{1, 0};
  setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  close();
}

void BlockingClient::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void BlockingClient::shrink_receive_buffer() {
  const int bytes = 4096;
  setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

}  // namespace spotmesh::testing
