#include "host/file_limit.hpp"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace spotmesh;

namespace {

struct Lines final : LogSink {
  bool is_enabled(LogLevel) const override { return true; }
  void write(LogLevel, std::string_view, std::string message, std::vector<LogField>) override {
    all.push_back(std::move(message));
  }
  std::vector<std::string> all;
};

// Puts the process's soft limit back at its end.
class SoftLimit {
 public:
  explicit SoftLimit(rlim_t soft) {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    REQUIRE(before_.rlim_max > soft);
    rlimit lower = before_;
    lower.rlim_cur = soft;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &lower) == 0);
  }
  ~SoftLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

  rlim_t present() const {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }
  rlim_t hard() const { return before_.rlim_max; }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("the limit of open files is raised to what is wanted, and never lowered") {
  const SoftLimit limit(64);
  Lines log;
  host::allow_open_files(100, log);
  CHECK(limit.present() == 100);
  host::allow_open_files(80, log);
  CHECK(limit.present() == 100);
  CHECK(log.all.empty());
}

TEST_CASE("a hard limit that is too low is used up, and told") {
  const SoftLimit limit(64);
  Lines log;
  host::allow_open_files(static_cast<std::size_t>(limit.hard()) + 1, log);
  CHECK(limit.present() == limit.hard());
  REQUIRE(log.all.size() == 1);
  CHECK(log.all[0].find("hard limit") != std::string::npos);
}
