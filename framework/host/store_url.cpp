#include "host/store_url.hpp"

#include <fmt/format.h>

#include <utility>

#include "store/redis/redis_store.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace spotmesh::host {
namespace {

using OpenedStore = Result<std::unique_ptr<location::LocationStore>>;

OpenedStore open_sqlite(std::string_view url) {
  auto options = store::parse_sqlite_url(url);
  if (!options) return fail(options.error());
  auto opened = store::SqliteStore::open(std::move(*options));
  if (!opened) return fail(opened.error());
  return std::move(*opened);
}

OpenedStore open_redis(const LocationSettings& settings, LogSink& log) {
  auto options = store::parse_redis_url(settings.store);
  if (!options) return fail(options.error());
  options->max_replica_lag = 2 * settings.margin;
  options->warn = [&log](const std::string& warning) {
    log.write(LogLevel::Warning, "store", warning, {});
  };
  auto opened = store::RedisStore::open(std::move(*options));
  if (!opened) return fail(opened.error());
  return std::move(*opened);
}

}  // namespace

OpenedStore open_store(const LocationSettings& settings, LogSink& log) {
  const std::string_view url = settings.store;
  if (url.empty()) {
    return fail(Error::not_configured(
        "no Location Store is set; set location.store, for example to \"sqlite:./cluster.db\""));
  }
  if (url.starts_with("sqlite:")) return open_sqlite(url);
  if (url.starts_with("redis")) return open_redis(settings, log);
  return fail(Error::invalid_operation(
      fmt::format("'{}' is no Location Store that this program knows; use sqlite:FILE, "
                  "redis://HOST:PORT/0 or redis+sentinel://HOST:PORT/PRIMARY",
                  url)));
}

}  // namespace spotmesh::host
