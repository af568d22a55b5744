#include "host/admin_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <spotmesh/ids.hpp>

#include "base/utf8.hpp"
#include "objects/registry.hpp"
#include "stream/session_directory.hpp"
#include "stream/session_row.hpp"

namespace spotmesh::host {
namespace {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return {};
}

std::optional<char> hex_byte(std::string_view digits) {
  if (digits.size() < 2) return {};
  const auto high = hex_digit(digits[0]);
  const auto low = hex_digit(digits[1]);
  if (!high || !low) return {};
  return static_cast<char>(*high << 4 | *low);
}

Result<std::string> decode(std::string_view text, bool is_query) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += is_query && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const auto byte = hex_byte(text.substr(i + 1));
    if (!byte) {
      return fail(Error::invalid_operation(
          "a percent sign in the target is not followed by two hexadecimal digits; write %25 for "
          "the sign itself"));
    }
    decoded += *byte;
    i += 2;
  }
  if (!is_valid_utf8(decoded)) {
    return fail(Error::invalid_operation("the target is not UTF-8 when it is decoded"));
  }
  return decoded;
}

// Calls `take` for each part between separators; the first error ends it.
template <typename Take>
Result<void> for_each_part(std::string_view text, char separator, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (auto taken = take(text.substr(0, end)); !taken) return taken;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::string hex_text(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::optional<std::string> parse_hex_text(std::string_view text) {
  std::string bytes;
  for (; !text.empty(); text.remove_prefix(2)) {
    const auto byte = hex_byte(text);
    if (!byte) return {};
    bytes += *byte;
  }
  return bytes;
}

// "<shard>-<the last id in hexadecimal digits>".
std::optional<objects::PageCursor> parse_cursor(std::string_view text, PageOf list) {
  const bool is_sessions = list == PageOf::Sessions;
  const std::size_t shards =
      is_sessions ? stream::SessionDirectory::shard_count : objects::Registry::shard_count;
  const std::size_t dash = text.find('-');
  if (dash == text.npos) return {};
  const auto shard = parse_number(text.substr(0, dash));
  auto after = parse_hex_text(text.substr(dash + 1));
  if (!shard || *shard >= shards || !after) return {};
  const bool is_id = after->empty() || (is_sessions ? stream::parse_session_id(*after).has_value()
                                                    : validate_id(*after, "id").has_value());
  if (!is_id) return {};
  return objects::PageCursor{*shard, *std::move(after)};
}

}  // namespace

Result<AdminTarget> parse_admin_target(std::string_view target) {
  if (!target.starts_with('/')) {
    return fail(Error::invalid_operation("the target of a request begins with '/' here"));
  }
  AdminTarget parsed;
  const std::size_t query_at = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(1, query_at - 1);
  auto taken = for_each_part(path, '/', [&](std::string_view part) -> Result<void> {
    auto segment = decode(part, false);
    if (!segment) return fail(segment.error());
    parsed.path.push_back(*std::move(segment));
    return {};
  });
  if (!taken) return fail(taken.error());
  const std::string_view query = target.substr(std::min(query_at + 1, target.size()));
  taken = for_each_part(query, '&', [&](std::string_view part) -> Result<void> {
    const std::size_t equals = std::min(part.find('='), part.size());
    auto name = decode(part.substr(0, equals), true);
    auto value = decode(part.substr(std::min(equals + 1, part.size())), true);
    if (!name) return fail(name.error());
    if (!value) return fail(value.error());
    if (parsed.query.contains(*name)) {
      return fail(
          Error::invalid_operation(fmt::format("the parameter '{}' is there twice", *name)));
    }
    parsed.query.emplace(*std::move(name), *std::move(value));
    return {};
  });
  if (!taken) return fail(taken.error());
  return parsed;
}

std::string percent_encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '~';
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

Result<void> allow_parameters(const AdminTarget& target, const std::vector<std::string>& allowed) {
  for (const auto& [name, value] : target.query) {
    if (std::ranges::find(allowed, name) != allowed.end()) continue;
    return fail(Error::invalid_operation(
        allowed.empty() ? fmt::format("there is no parameter '{}' here, nor any other", name)
                        : fmt::format("there is no parameter '{}' here; there are {}", name,
                                      fmt::join(allowed, ", "))));
  }
  return {};
}

bool is_path(const AdminTarget& target, std::string_view path, bool has_id) {
  if (has_id && target.path.empty()) return false;
  std::string text;
  for (std::size_t i = 0; i + (has_id ? 1 : 0) < target.path.size(); ++i) {
    text += "/" + target.path[i];
  }
  return text == path;
}

Result<objects::PageWanted> page_wanted(const AdminTarget& target, PageOf list) {
  std::vector<std::string> allowed{"limit", "cursor", "type", "mesh", "id"};
  if (list == PageOf::Actors) allowed.push_back("spot");
  if (auto sound = allow_parameters(target, allowed); !sound) return fail(sound.error());
  objects::PageWanted wanted{
      .limit = admin_page_rows, .from = {}, .type = {}, .mesh = {}, .spot = {}, .id = {}};
  for (const auto& [name, value] : target.query) {
    if (name == "limit") {
      const auto limit = parse_number(value);
      if (!limit || *limit < 1 || *limit > admin_page_rows_most) {
        return fail(Error::invalid_operation(
            fmt::format("limit is a number from 1 to {}", admin_page_rows_most)));
      }
      wanted.limit = *limit;
    } else if (name == "cursor") {
      auto cursor = parse_cursor(value, list);
      if (!cursor) {
        return fail(Error::invalid_operation(
            "cursor is none that a page of this list has given as its next"));
      }
      wanted.from = *std::move(cursor);
    } else if (name == "id") {
      wanted.id = value;
    } else {
      (name == "type" ? wanted.type : name == "spot" ? wanted.spot : wanted.mesh) = value;
    }
  }
  return wanted;
}

std::string cursor_text(const objects::PageCursor& cursor) {
  return fmt::format("{}-{}", cursor.shard, hex_text(cursor.after));
}

}  // namespace spotmesh::host
