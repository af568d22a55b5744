// Reading documents of an endpoint that may be older or newer than this command.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace spotmesh::cli {

// What is not there, or of another kind, is empty.
inline const nlohmann::json& at(const nlohmann::json& object, std::string_view key) {
  static const nlohmann::json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

inline std::string text_at(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = at(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

inline std::uint64_t number_at(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = at(object, key);
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return value.is_number_integer() && value > 0 ? value.get<std::uint64_t>() : 0;
}

inline bool is_true_at(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = at(object, key);
  return value.is_boolean() && value.get<bool>();
}

}  // namespace spotmesh::cli
