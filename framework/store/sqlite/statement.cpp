#include "store/sqlite/connection.hpp"

namespace spotmesh::store {

Statement::Statement(sqlite3* database, std::string_view sql) {
  sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                     &statement_, nullptr);
}

void Statement::bind(int position, ByteView bytes) {
  // A null pointer would bind NULL, which is not the same as no bytes.
  const void* data = bytes.empty() ? static_cast<const void*>("") : bytes.data();
  sqlite3_bind_blob64(statement_, position, data, bytes.size(), SQLITE_STATIC);
}

void Statement::bind(int position, std::int64_t number) {
  sqlite3_bind_int64(statement_, position, number);
}

int Statement::run() {
  int code = step();
  while (code == SQLITE_ROW) code = step();
  reset();
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

void Statement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Bytes Statement::bytes(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? Bytes() : Bytes(data, data + size);
}

std::string Statement::text(int column) const {
  const Bytes value = bytes(column);
  return std::string(as_text(value));
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

}  // namespace spotmesh::store
