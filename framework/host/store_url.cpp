#include "host/store_url.hpp"

#include <fmt/format.h>

#include <utility>

#include "store/sqlite/sqlite_store.hpp"

namespace spotmesh::host {

Result<std::unique_ptr<location::LocationStore>> open_store(std::string_view url) {
  if (url.empty()) {
    return fail(Error::not_configured(
        "no Location Store is set; set location.store, for example to \"sqlite:./cluster.db\""));
  }
  if (!url.starts_with("sqlite:")) {
    return fail(Error::invalid_operation(
        fmt::format("'{}' is no Location Store that this program knows; use sqlite:FILE", url)));
  }
  auto options = store::parse_sqlite_url(url);
  if (!options) return fail(options.error());
  auto opened = store::SqliteStore::open(std::move(*options));
  if (!opened) return fail(opened.error());
  return std::unique_ptr<location::LocationStore>(std::move(*opened));
}

}  // namespace spotmesh::host
