// A relay before a Redis server that loses what a test wants lost.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace spotmesh::testing {

class CuttingProxy {
 public:
  enum class Mode {
    Relay,
    CutBeforeServer,  // a request ends the connection and does not reach the server
    CutAfterServer,   // it reaches the server, and its answer ends the connection
    HoldRequests,     // those of the connections that there are reach nobody, and nothing ends
  };

  explicit CuttingProxy(std::uint16_t server_port) : server_port_(server_port) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0);
    REQUIRE(listen(listener_, 16) == 0);
    REQUIRE(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    port_ = ntohs(address.sin_port);
    REQUIRE(pipe(wake_.data()) == 0);
    thread_ = std::thread([this] { run(); });
  }
  ~CuttingProxy() {
    is_stopping_ = true;
    wake();
    thread_.join();
    for (auto& pair : pairs_) close_both(pair);
    for (const int descriptor : {listener_, wake_[0], wake_[1]}) close(descriptor);
  }
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  std::uint16_t port() const { return port_; }
  // For what comes from now on. A mode that cuts goes back to Relay with the cut.
  void set_mode(Mode mode) {
    mode_ = mode;
    wake();
  }
  Mode mode() const { return mode_; }
  // Connections whose requests are held.
  std::size_t held() const { return held_; }

 private:
  struct Pair {
    int client;
    int server;
    bool is_held = false;
  };

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  void wake() const { [[maybe_unused]] const auto written = write(wake_[1], "", 1); }
  static void close_both(Pair& pair) {
    for (int* end : {&pair.client, &pair.server}) {
      if (*end >= 0) close(std::exchange(*end, -1));
    }
  }

  void run() {
    while (!is_stopping_) {
      std::vector<pollfd> polled = {{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
      for (Pair& pair : pairs_) {
        pair.is_held = pair.is_held && mode_ == Mode::HoldRequests;
        // Nothing is heard of a held client, not even its end.
        polled.push_back({pair.is_held ? -1 : pair.client, POLLIN, 0});
        polled.push_back({pair.server, POLLIN, 0});
      }
      poll(polled.data(), polled.size(), -1);
      if (mode_ == Mode::HoldRequests && !std::exchange(is_holding_, true)) {
        for (Pair& pair : pairs_) pair.is_held = true;
        continue;
      }
      is_holding_ = mode_ == Mode::HoldRequests;
      char bytes[64 * 1024];
      if (polled[1].revents != 0) [[maybe_unused]]
        const auto got = read(wake_[0], bytes, sizeof bytes);
      for (std::size_t i = 2; i < polled.size(); ++i) {
        if (polled[i].revents != 0) relay(pairs_[(i - 2) / 2], i % 2 == 0);
      }
      std::erase_if(pairs_, [](const Pair& pair) { return pair.client < 0; });
      if (polled[0].revents != 0) accept_one();
      held_ = static_cast<std::size_t>(
          std::count_if(pairs_.begin(), pairs_.end(), [](const Pair& p) { return p.is_held; }));
    }
  }

  void accept_one() {
    Pair pair{accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC),
              socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address = loopback(server_port_);
    if (connect(pair.server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      pairs_.push_back(pair);
    } else {
      close_both(pair);
    }
  }

  void relay(Pair& pair, bool is_request) {
    if (pair.client < 0) return;
    char bytes[64 * 1024];
    const ssize_t count = recv(is_request ? pair.client : pair.server, bytes, sizeof bytes, 0);
    const Mode cut = is_request ? Mode::CutBeforeServer : Mode::CutAfterServer;
    if (mode_ == cut) {
      mode_ = Mode::Relay;
      return close_both(pair);
    }
    if (count <= 0) return close_both(pair);
    const int to = is_request ? pair.server : pair.client;
    for (ssize_t sent = 0; sent < count;) {
      const ssize_t now =
          send(to, bytes + sent, static_cast<std::size_t>(count - sent), MSG_NOSIGNAL);
      if (now <= 0) return close_both(pair);
      sent += now;
    }
  }

  const std::uint16_t server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::array<int, 2> wake_{};
  std::atomic<Mode> mode_ = Mode::Relay;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<std::size_t> held_ = 0;
  bool is_holding_ = false;
  std::vector<Pair> pairs_;
  std::thread thread_;
};

}  // namespace spotmesh::testing
