#include "location/store.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace spotmesh::location {
namespace {

// Names the first fault of a list of keys; `what` says which list it is.
std::string fault_of_keys(std::vector<std::string_view> keys, std::string_view what) {
  if (keys.size() > max_keys_per_operation) {
    return fmt::format("{} {}; at most {} are allowed", keys.size(), what, max_keys_per_operation);
  }
  for (const std::string_view key : keys) {
    if (key.empty()) return fmt::format("an empty key among the {}", what);
    if (key.size() > max_store_key_bytes) {
      return fmt::format("a key of {} bytes among the {}; at most {} are allowed", key.size(), what,
                         max_store_key_bytes);
    }
  }
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) {
    return fmt::format("a key stands twice among the {}", what);
  }
  return {};
}

}  // namespace

std::string fault_of_read(const std::vector<std::string>& keys) {
  if (keys.empty()) return "a read of no keys";
  return fault_of_keys({keys.begin(), keys.end()}, "keys to read");
}

std::string fault_of_commit(const Commit& commit) {
  if (commit.writes.empty()) return "a commit without writes";
  std::vector<std::string_view> keys;
  for (const Condition& condition : commit.conditions) keys.push_back(condition.key);
  if (std::string fault = fault_of_keys(std::move(keys), "conditions"); !fault.empty()) {
    return fault;
  }
  keys.clear();
  for (const Write& write : commit.writes) {
    keys.push_back(write.key);
    if (write.value && write.value->size() > max_store_value_bytes) {
      return fmt::format("a value of {} bytes; at most {} are allowed", write.value->size(),
                         max_store_value_bytes);
    }
  }
  return fault_of_keys(std::move(keys), "writes");
}

std::string fault_of_scan(std::string_view prefix, std::string_view cursor, std::size_t limit) {
  if (prefix.size() > max_store_key_bytes || cursor.size() > max_store_key_bytes) {
    return fmt::format("a prefix or cursor of more than {} bytes", max_store_key_bytes);
  }
  if (limit == 0 || limit > max_scan_page) {
    return fmt::format("a page of {} entries; 1 to {} are allowed", limit, max_scan_page);
  }
  return {};
}

}  // namespace spotmesh::location
