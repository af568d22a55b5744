#include <spotmesh/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "base/utf8.hpp"
#include "host/duration_text.hpp"
#include "host/toml_file.hpp"

namespace spotmesh {

using host::format_duration;
using host::parse_duration;

namespace {

constexpr std::string_view environment_prefix = "SPOTMESH_";

// SPOTMESH_STREAM_STATIC_DIRECTORY for stream.static_directory.
std::string variable_of(std::string_view key) {
  std::string name(environment_prefix);
  for (const char c : key) {
    const bool is_lower = c >= 'a' && c <= 'z';
    name.push_back(c == '.' ? '_' : is_lower ? static_cast<char>(c - 'a' + 'A') : c);
  }
  return name;
}

std::string as_toml(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

std::string as_toml(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const auto& text : texts) out += (out.size() > 1 ? ", " : "") + as_toml(text);
  return out + "]";
}

std::vector<std::string> split_by_comma(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

// A configuration file cannot hold other text, so neither may its substitutes.
void require_utf8(std::string_view origin, std::string_view text) {
  if (!is_valid_utf8(text)) {
    throw ConfigurationError(fmt::format("{}: the value is not UTF-8", origin));
  }
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substituted}));
    }
  }
  return row[b.size()];
}

template <typename Keys>
std::string nearest(std::string_view wanted, const Keys& keys) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(3, wanted.size() / 3);
  for (const auto& [key, declared] : keys) {
    const std::size_t distance = edit_distance(wanted, key);
    if (distance < best_distance) {
      best_distance = distance;
      best = key;
    }
  }
  return best.empty() ? std::string() : fmt::format("; did you mean '{}'?", best);
}

}  // namespace

Settings::Settings(std::vector<std::string> flags, Environment environment) {
  read_flags(flags);
  std::string path = "spotmesh.toml";
  const auto named = flags_.find("config");
  if (named != flags_.end()) {
    path = named->second.text;
    flags_.erase(named);
  } else if (!std::filesystem::exists(path)) {
    path.clear();
  }
  if (!path.empty()) read_file(path);
  read_environment(environment);
}

void Settings::read_flags(const std::vector<std::string>& flags) {
  for (const std::string& flag : flags) {
    if (flag == "--help" || flag == "-h") {
      wants_help_ = true;
    } else if (flag == "--print-config") {
      wants_print_ = true;
    } else {
      const std::size_t equals = flag.find('=');
      if (!flag.starts_with("--") || equals == std::string::npos || equals <= 2) {
        throw ConfigurationError(fmt::format(
            "'{}' is not a flag this program knows; settings are given as --section.key=value",
            flag));
      }
      const std::string key = flag.substr(2, equals - 2);
      require_utf8(flag.substr(0, equals), flag.substr(equals + 1));
      if (flags_.contains(key)) throw ConfigurationError(fmt::format("--{} is given twice", key));
      Value value;
      value.text = flag.substr(equals + 1);
      value.origin = "--" + key;
      flags_.emplace(key, std::move(value));
    }
  }
}

void Settings::read_file(const std::string& path) {
  for (auto& entry : host::read_toml_file(path)) {
    Value value;
    value.text = std::move(entry.text);
    value.list = std::move(entry.list);
    value.origin = fmt::format("{}:{}", path, entry.line);
    value.is_from_file = true;
    switch (entry.kind) {
      case host::TomlEntry::Kind::Text:
        value.kind = Value::Kind::Text;
        break;
      case host::TomlEntry::Kind::Integer:
        value.kind = Value::Kind::Integer;
        break;
      case host::TomlEntry::Kind::Boolean:
        value.kind = Value::Kind::Boolean;
        break;
      case host::TomlEntry::Kind::List:
        value.kind = Value::Kind::List;
        break;
      case host::TomlEntry::Kind::Other:
        value.kind = Value::Kind::Other;
        break;
    }
    const auto [place, is_new] = file_.emplace(std::move(entry.key), std::move(value));
    if (is_new) continue;
    // As [stream] with port and again as "stream.port", which TOML takes for another name.
    throw ConfigurationError(
        fmt::format("{}:{}: '{}' stands in the file twice", path, entry.line, place->first));
  }
}

void Settings::read_environment(const Environment& environment) {
  for (const auto& [name, text] : environment) {
    if (!name.starts_with(environment_prefix)) continue;
    require_utf8(name, text);
    Value value;
    value.text = text;
    value.origin = name;
    environment_.emplace(name, std::move(value));
  }
}

const Settings::Value* Settings::find(std::string_view key) {
  if (const auto flag = flags_.find(key); flag != flags_.end()) return &flag->second;
  const auto variable = environment_.find(variable_of(key));
  if (variable != environment_.end()) return &variable->second;
  if (const auto entry = file_.find(key); entry != file_.end()) return &entry->second;
  return nullptr;
}

void Settings::declare(std::string_view key, Declared declared) {
  if (!declared_.emplace(std::string(key), std::move(declared)).second) {
    throw ConfigurationError(fmt::format("the setting '{}' is declared twice in the program", key));
  }
}

void Settings::refuse(std::string_view key, const Value& value, std::string_view allowed) const {
  const std::string shown =
      value.kind == Value::Kind::List ? as_toml(value.list) : fmt::format("'{}'", value.text);
  throw ConfigurationError(
      fmt::format("{}: {} = {} is not allowed; allowed: {}", value.origin, key, shown, allowed));
}

std::string Settings::text(std::string_view key, std::string_view fallback,
                           std::string_view meaning) {
  return text(key, fallback, [](std::string_view) { return true; }, "a text", meaning);
}

std::string Settings::text(std::string_view key, std::string_view fallback,
                           const std::function<bool(std::string_view)>& is_allowed,
                           std::string_view allowed, std::string_view meaning) {
  const Value* value = find(key);
  if (value != nullptr && (value->kind != Value::Kind::Text || !is_allowed(value->text))) {
    refuse(key, *value, allowed);
  }
  std::string result = value != nullptr ? value->text : std::string(fallback);
  declare(key, {as_toml(result), value != nullptr ? value->origin : "default", std::string(meaning),
                std::string(allowed), as_toml(fallback)});
  return result;
}

std::string Settings::secret(std::string_view key, std::string_view meaning) {
  const std::string file_key = fmt::format("{}_file", key);
  const std::string variable = variable_of(key);
  for (const auto* source : {&flags_, &file_}) {
    const auto found = source->find(key);
    if (found == source->end()) continue;
    throw ConfigurationError(fmt::format(
        "{}: {} is a secret, which does not stand here; put it into a file that {} names, or into "
        "the environment variable {}",
        found->second.origin, key, file_key, variable));
  }
  const std::string file =
      text(file_key, "", fmt::format("file with {}; empty means none", meaning));
  const auto in_environment = environment_.find(variable);
  if (in_environment != environment_.end() && !file.empty()) {
    throw ConfigurationError(
        fmt::format("{} and {} are both set; one of them is enough", variable, origin(file_key)));
  }
  const std::string from = in_environment != environment_.end() ? variable : origin(file_key);
  std::string value =
      in_environment != environment_.end() ? in_environment->second.text : read_secret(key, file);
  const bool is_set = in_environment != environment_.end() || !file.empty();
  constexpr std::string_view allowed = "16 to 1024 characters of printable ASCII without spaces";
  const bool is_plain = std::ranges::all_of(value, [](char c) { return c > ' ' && c <= '~'; });
  if (is_set && (value.size() < 16 || value.size() > 1024 || !is_plain)) {
    throw ConfigurationError(
        fmt::format("{}: {} is not allowed as it is there; allowed: {}", from, key, allowed));
  }
  declare(key,
          {is_set ? "\"(not shown)\"" : "\"\"", is_set ? from : "default", std::string(meaning),
           fmt::format("{}, only in the variable {}", allowed, variable), "\"\""});
  return value;
}

std::string Settings::read_secret(std::string_view key, const std::string& file) const {
  if (file.empty()) return {};
  constexpr std::size_t most_bytes = 4096;
  std::string text(most_bytes, '\0');
  std::ifstream stream(file, std::ios::binary);
  if (stream && std::filesystem::is_regular_file(file)) {
    stream.read(text.data(), most_bytes);
    text.resize(static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad() || !stream.eof()) {
    throw ConfigurationError(fmt::format("{}: the file '{}' with {} cannot be read, or is too long",
                                         origin(fmt::format("{}_file", key)), file, key));
  }
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

const std::string& Settings::origin(std::string_view key) const {
  return declared_.find(key)->second.origin;
}

std::int64_t Settings::integer(std::string_view key, std::int64_t fallback, Range range,
                               std::string_view meaning) {
  const std::string allowed = fmt::format("an integer from {} to {}", range.lowest, range.highest);
  const Value* value = find(key);
  std::int64_t result = fallback;
  if (value != nullptr) {
    const bool is_wrong_type = value->is_from_file && value->kind != Value::Kind::Integer;
    const auto parsed = is_wrong_type ? std::nullopt : parse_integer(value->text);
    if (!parsed || *parsed < range.lowest || *parsed > range.highest) refuse(key, *value, allowed);
    result = *parsed;
  }
  declare(key, {std::to_string(result), value != nullptr ? value->origin : "default",
                std::string(meaning), allowed, std::to_string(fallback)});
  return result;
}

bool Settings::boolean(std::string_view key, bool fallback, std::string_view meaning) {
  constexpr std::string_view allowed = "true or false";
  const auto name = [](bool flag) { return flag ? "true" : "false"; };
  const Value* value = find(key);
  bool result = fallback;
  if (value != nullptr) {
    const bool is_wrong_type = value->is_from_file && value->kind != Value::Kind::Boolean;
    if (is_wrong_type || (value->text != "true" && value->text != "false")) {
      refuse(key, *value, allowed);
    }
    result = value->text == "true";
  }
  declare(key, {name(result), value != nullptr ? value->origin : "default", std::string(meaning),
                std::string(allowed), name(fallback)});
  return result;
}

std::chrono::milliseconds Settings::duration(std::string_view key,
                                             std::chrono::milliseconds fallback,
                                             DurationRange range, std::string_view meaning) {
  const std::string allowed =
      fmt::format("a duration such as \"250ms\", \"30s\", \"5m\" from {} to {}",
                  format_duration(range.shortest), format_duration(range.longest));
  const Value* value = find(key);
  std::chrono::milliseconds result = fallback;
  if (value != nullptr) {
    const auto parsed =
        value->kind == Value::Kind::Text ? parse_duration(value->text) : std::nullopt;
    if (!parsed || *parsed < range.shortest || *parsed > range.longest)
      refuse(key, *value, allowed);
    result = *parsed;
  }
  declare(key, {as_toml(format_duration(result)), value != nullptr ? value->origin : "default",
                std::string(meaning), allowed, as_toml(format_duration(fallback))});
  return result;
}

std::vector<std::string> Settings::texts(std::string_view key, std::vector<std::string> fallback,
                                         std::string_view meaning) {
  constexpr std::string_view allowed = "an array of texts (separated by commas outside the file)";
  const Value* value = find(key);
  std::vector<std::string> result = fallback;
  if (value != nullptr) {
    if (value->is_from_file && value->kind != Value::Kind::List) refuse(key, *value, allowed);
    result = value->is_from_file ? value->list : split_by_comma(value->text);
  }
  declare(key, {as_toml(result), value != nullptr ? value->origin : "default", std::string(meaning),
                std::string(allowed), as_toml(fallback)});
  return result;
}

std::string Settings::choice(std::string_view key, std::string_view fallback,
                             std::vector<std::string> allowed_values, std::string_view meaning) {
  std::string allowed = "one of";
  for (const auto& one : allowed_values) allowed += " " + as_toml(one);
  const Value* value = find(key);
  std::string result = value != nullptr ? value->text : std::string(fallback);
  if (value != nullptr && (value->kind != Value::Kind::Text ||
                           std::ranges::find(allowed_values, result) == allowed_values.end())) {
    refuse(key, *value, allowed);
  }
  declare(key, {as_toml(result), value != nullptr ? value->origin : "default", std::string(meaning),
                allowed, as_toml(fallback)});
  return result;
}

void Settings::check() const {
  for (const auto* source : {&flags_, &file_}) {
    for (const auto& [key, value] : *source) {
      if (declared_.contains(key)) continue;
      throw ConfigurationError(fmt::format("{}: there is no setting '{}'{}", value.origin, key,
                                           nearest(key, declared_)));
    }
  }
  std::map<std::string, const Declared*> variables;
  for (const auto& [key, declared] : declared_) variables.emplace(variable_of(key), &declared);
  for (const auto& [name, value] : environment_) {
    if (variables.contains(name)) continue;
    throw ConfigurationError(fmt::format("the environment variable {} belongs to no setting{}",
                                         name, nearest(name, variables)));
  }
}

std::string Settings::effective() const {
  std::string out;
  std::string section;
  for (const auto& [key, declared] : declared_) {
    const std::size_t dot = key.rfind('.');
    if (const std::string here = key.substr(0, dot); here != section) {
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", here);
      section = here;
    }
    out += fmt::format("{} = {}  # {}\n", key.substr(dot + 1), declared.toml, declared.origin);
  }
  return out;
}

std::string Settings::help() const {
  std::string out =
      "Settings, from spotmesh.toml or --config=FILE, the environment (SPOTMESH_SECTION_KEY)\n"
      "and flags (--section.key=value), the later ones winning. --print-config shows the "
      "result.\n\n";
  for (const auto& [key, declared] : declared_) {
    out += fmt::format("  --{}={}\n      {} ({})\n", key, declared.fallback, declared.meaning,
                       declared.allowed);
  }
  return out;
}

}  // namespace spotmesh
