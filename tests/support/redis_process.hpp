// A redis-server of a test's own, on a free port of the loopback address, ended with it.
#pragma once

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/scratch_folder.hpp"

namespace spotmesh::testing {

// One that was free a moment ago.
inline std::uint16_t free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  REQUIRE(bind(probe, reinterpret_cast<sockaddr*>(&address), length) == 0);
  REQUIRE(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  close(probe);
  return ntohs(address.sin_port);
}

class RedisProcess {
 public:
  // Lines of redis.conf besides, "maxmemory 1mb".
  explicit RedisProcess(std::vector<std::string> settings = {}) : settings_(std::move(settings)) {
    // Somebody else may take the port first.
    for (int attempt = 0; attempt < 5 && pid_ == 0; ++attempt) {
      port_ = free_port();
      start();
    }
    REQUIRE(pid_ != 0);
  }
  // A Sentinel that watches a server as "primary", and gives it up after a third of a second.
  static RedisProcess sentinel_of(const RedisProcess& primary) {
    return RedisProcess(
        {fmt::format("sentinel monitor primary 127.0.0.1 {} 1", primary.port()),
         "sentinel down-after-milliseconds primary 300", "sentinel failover-timeout primary 2000"},
        "+monitor master");
  }
  ~RedisProcess() { kill_now(); }
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return fmt::format("redis://127.0.0.1:{}/0", port_); }

  // Starts it again, on the same port and with the files that it has left.
  void restart() {
    kill_now();
    start();
    REQUIRE(pid_ != 0);
  }
  void kill_now() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
    close(output_);
  }
  void freeze() const { kill(pid_, SIGSTOP); }
  void thaw() const { kill(pid_, SIGCONT); }

 private:
  RedisProcess(std::vector<std::string> settings, std::string_view ready)
      : settings_(std::move(settings)), ready_(ready), port_(free_port()) {
    start();
    REQUIRE(pid_ != 0);
  }

  bool is_sentinel() const { return ready_.starts_with("+monitor"); }

  void start() {
    const std::string configuration = folder_.path() / "redis.conf";
    {
      std::ofstream file(configuration);
      file << "bind 127.0.0.1\nport " << port_ << "\ndir " << folder_.path().string() << '\n';
      if (!is_sentinel()) file << "save \"\"\nrepl-diskless-sync-delay 0\n";
      for (const std::string& line : settings_) file << line << '\n';
    }
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      // Not left behind by a test that crashes.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      execlp("redis-server", "redis-server", configuration.c_str(),
             is_sentinel() ? "--sentinel" : nullptr, nullptr);
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
    REQUIRE(pid_ > 0);
    wait_until_ready();
  }

  // It says so; the end of its output means that it could not start.
  void wait_until_ready() {
    std::string said;
    char byte = 0;
    while (said.find(ready_) == std::string::npos) {
      if (read(output_, &byte, 1) == 1) {
        said += byte;
        continue;
      }
      int status = 0;
      waitpid(pid_, &status, 0);
      pid_ = 0;
      close(output_);
      UNSCOPED_INFO("redis-server ended; without one, run tools/setup.sh. It said: " << said);
      return;
    }
  }

  ScratchFolder folder_;
  const std::vector<std::string> settings_;
  const std::string ready_ = "Ready to accept connections";
  std::uint16_t port_ = 0;
  pid_t pid_ = 0;
  int output_ = -1;
};

}  // namespace spotmesh::testing
