#include "host/system_limits.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace spotmesh;

namespace {

struct Fields final : LogSink {
  bool is_enabled(LogLevel) const override { return true; }
  void write(LogLevel level, std::string_view, std::string, std::vector<LogField> fields) override {
    if (level == LogLevel::Info) infos.push_back(std::move(fields));
  }
  std::vector<std::vector<LogField>> infos;
};

}  // namespace

TEST_CASE("the limits of the process are told in one line, as they are") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit lower = before;
  lower.rlim_cur = 123;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &lower) == 0);
  Fields log;
  host::tell_system_limits(log);
  setrlimit(RLIMIT_NOFILE, &before);
  REQUIRE(log.infos.size() == 1);
  const auto& fields = log.infos[0];
  const auto value = [&](std::string_view key) {
    const auto found =
        std::ranges::find_if(fields, [&](const LogField& field) { return field.key == key; });
    REQUIRE(found != fields.end());
    return found->value;
  };
  CHECK(value("open_files") == "123");
  for (const std::string_view key :
       {"threads", "address_space", "core_file", "listen_backlog", "processors"}) {
    CHECK_FALSE(value(key).empty());
  }
}
