#include "host/system_limits.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace spotmesh::host {
namespace {

// Connections that the system keeps until they are accepted. Where more come within a moment, it
// lets them wait for a second or more.
constexpr std::uint64_t good_listen_backlog = 1024;

std::string text_of(int resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0) return "unknown";
  return limit.rlim_cur == RLIM_INFINITY ? "unlimited" : fmt::format("{}", limit.rlim_cur);
}

std::optional<std::uint64_t> listen_backlog() {
  std::ifstream file("/proc/sys/net/core/somaxconn");
  std::uint64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

}  // namespace

void tell_system_limits(LogSink& log) {
  const auto backlog = listen_backlog();
  log.write(LogLevel::Info, "host", "limits of this process",
            {{"open_files", text_of(RLIMIT_NOFILE)},
             {"threads", text_of(RLIMIT_NPROC)},
             {"address_space", text_of(RLIMIT_AS)},
             {"core_file", text_of(RLIMIT_CORE)},
             {"listen_backlog", backlog ? fmt::format("{}", *backlog) : "unknown"},
             {"processors", fmt::format("{}", std::thread::hardware_concurrency())}});
  if (backlog && *backlog < good_listen_backlog) {
    log.write(LogLevel::Warning, "host",
              "few clients may wait to be accepted; raise net.core.somaxconn",
              {{"limit", fmt::format("{}", *backlog)},
               {"wanted", fmt::format("{}", good_listen_backlog)}});
  }
}

}  // namespace spotmesh::host
