#include "host/file_limit.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace spotmesh::host {

void allow_open_files(std::size_t wanted, LogSink& log) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  // Lowering nothing and within the hard limit, this cannot be refused.
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return;
  log.write(LogLevel::Warning, "host",
            "fewer files may be open than clients may connect; raise the hard limit",
            {{"limit", std::to_string(limit.rlim_cur)}, {"wanted", std::to_string(wanted)}});
}

}  // namespace spotmesh::host
