#include "host/toml_file.hpp"

#include <fmt/format.h>
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <filesystem>
#include <string_view>

#include <spotmesh/error.hpp>

namespace spotmesh::host {
namespace {

TomlEntry entry_of(std::string key, const toml::node& node) {
  TomlEntry entry;
  entry.key = std::move(key);
  entry.line = node.source().begin.line;
  if (const auto* text = node.as_string()) {
    entry.kind = TomlEntry::Kind::Text;
    entry.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    entry.kind = TomlEntry::Kind::Integer;
    entry.text = std::to_string(integer->get());
  } else if (const auto* boolean = node.as_boolean()) {
    entry.kind = TomlEntry::Kind::Boolean;
    entry.text = boolean->get() ? "true" : "false";
  } else if (const auto* array = node.as_array();
             array != nullptr && (array->empty() || array->is_homogeneous<std::string>())) {
    entry.kind = TomlEntry::Kind::List;
    for (const auto& element : *array) entry.list.push_back(element.as_string()->get());
  } else {
    entry.text = "a value of another type";
  }
  return entry;
}

void flatten(const toml::table& table, const std::string& prefix, std::vector<TomlEntry>& out) {
  for (const auto& [name, node] : table) {
    std::string key = prefix + std::string(name.str());
    if (const auto* inner = node.as_table()) {
      flatten(*inner, key + ".", out);
    } else {
      out.push_back(entry_of(std::move(key), node));
    }
  }
}

}  // namespace

std::vector<TomlEntry> read_toml_file(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) {
    throw ConfigurationError(fmt::format("the configuration file '{}' does not exist", path));
  }
  const toml::parse_result parsed = toml::parse_file(path);
  if (!parsed) {
    const auto& at = parsed.error().source().begin;
    throw ConfigurationError(
        fmt::format("{}:{}:{}: {}", path, at.line, at.column, parsed.error().description()));
  }
  std::vector<TomlEntry> entries;
  flatten(parsed.table(), "", entries);
  return entries;
}

}  // namespace spotmesh::host
