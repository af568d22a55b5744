// Reading a TOML file into flat `section.key` entries that remember their line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spotmesh::host {

struct TomlEntry {
  enum class Kind { Text, Integer, Boolean, List, Other };
  std::string key;  // "stream.port"
  Kind kind = Kind::Other;
  std::string text;               // the scalar as text
  std::vector<std::string> list;  // of a List: an array of texts only
  std::uint32_t line = 0;
};

// Throws ConfigurationError when the file cannot be read or is not TOML; the message has file, line
// and column.
std::vector<TomlEntry> read_toml_file(const std::string& path);

}  // namespace spotmesh::host
