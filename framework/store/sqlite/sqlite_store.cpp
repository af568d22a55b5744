#include "store/sqlite/sqlite_store.hpp"

#include <utility>

#include <fmt/format.h>

#include "store/sqlite/engine.hpp"

namespace spotmesh::store {

Result<SqliteOptions> parse_sqlite_url(std::string_view url) {
  constexpr std::string_view scheme = "sqlite:";
  const auto refuse = [url](std::string_view reason) {
    return fail(Error::invalid_operation(
        fmt::format("\"{}\" names no store file: {}; write \"sqlite:./cluster.db\"", url, reason)));
  };
  if (!url.starts_with(scheme)) return refuse("it does not begin with \"sqlite:\"");
  const std::string_view path = url.substr(scheme.size());
  if (path.empty()) return refuse("the path is empty");
  if (path.starts_with(":")) {
    return refuse("a database in memory cannot be shared by several processes");
  }
  if (path.ends_with("/")) return refuse("the path is a folder");
  if (path.find('\0') != std::string_view::npos) return refuse("the path has a null byte");
  if (path.find('?') != std::string_view::npos) return refuse("it takes no parameters");
  SqliteOptions options;
  options.path = path;
  return options;
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::open(SqliteOptions options) {
  Connection::Settings settings{
      .path = options.path, .may_create = true, .max_file_bytes = options.max_file_bytes};
  const auto deadline =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(options.operation_timeout);
  auto writer = Connection::open(settings, deadline);
  if (!writer) return fail(writer.error());
  settings.may_create = false;
  auto reader = Connection::open(settings, deadline);
  if (!reader) return fail(reader.error());
  auto engine =
      std::make_unique<Engine>(std::move(options), std::move(*reader), std::move(*writer));
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(engine)));
}

SqliteStore::SqliteStore(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

SqliteStore::~SqliteStore() = default;

void SqliteStore::read(std::vector<std::string> keys, location::ReadCallback done) {
  engine_->read(std::move(keys), std::move(done));
}

void SqliteStore::commit(location::Commit commit, location::CommitCallback done) {
  engine_->commit(std::move(commit), std::move(done));
}

void SqliteStore::scan(std::string prefix, std::string cursor, std::size_t limit,
                       location::ScanCallback done) {
  engine_->scan(std::move(prefix), std::move(cursor), limit, std::move(done));
}

void SqliteStore::watch(std::string prefix, location::HintCallback hint) {
  engine_->watch(std::move(prefix), std::move(hint));
}

std::string SqliteStore::describe() const { return "sqlite:" + engine_->options().path; }

}  // namespace spotmesh::store
