#include "host/toml_file.hpp"

#include <fmt/format.h>

// toml++ asserts what some malformed files do not fulfil ("[:x]"). A typing error in a
// configuration file is no defect of the program, so it must not end it like one.
namespace spotmesh::host {
struct UnreadableToml {};
}  // namespace spotmesh::host
#define TOML_ASSERT(expr) ((expr) ? void() : throw ::spotmesh::host::UnreadableToml())
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <filesystem>
#include <fstream>
#include <iterator>
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

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(path)) {
    throw ConfigurationError(fmt::format("the configuration file '{}' does not exist", path));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_readable(std::string_view text) {
  try {
    static_cast<void>(toml::parse(text));
    return true;
  } catch (const UnreadableToml&) {
    return false;
  }
}

// The line that makes the parser give up: the last one of the shortest beginning that does.
std::size_t unreadable_line(std::string_view text) {
  std::size_t line = 1;
  std::size_t end = text.find('\n');
  while (end != text.npos && is_readable(text.substr(0, end))) {
    end = text.find('\n', end + 1);
    ++line;
  }
  return line;
}

toml::parse_result parse(const std::string& path, std::string_view text) {
  try {
    return toml::parse(text, path);
  } catch (const UnreadableToml&) {
    throw ConfigurationError(
        fmt::format("{}:{}: this line is not TOML", path, unreadable_line(text)));
  }
}

}  // namespace

std::vector<TomlEntry> read_toml_file(const std::string& path) {
  const std::string text = read_file(path);
  const toml::parse_result parsed = parse(path, text);
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
