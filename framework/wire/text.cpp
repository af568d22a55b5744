#include "wire/text.hpp"

#include <cstdint>

#include "base/utf8.hpp"

namespace spotmesh::wire {
namespace {

constexpr std::size_t quoted_bytes = 64;
constexpr std::string_view replacement_character = "\xef\xbf\xbd";

void append_escaped(std::string& out, char c) {
  static constexpr char digits[] = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  out += "\\u00";
  out += digits[static_cast<std::uint8_t>(c) >> 4];
  out += digits[c & 0xf];
}

// The length of the character that `text` starts with, or 0 when it starts with none.
std::size_t character_length(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    if (is_valid_utf8(text.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

std::string as_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string sound;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    sound += length == 0 ? replacement_character : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return sound;
}

// Cut twice: replacing makes it longer, and of what goes anyway nothing need be replaced.
std::string as_utf8(std::string_view text, std::size_t max_bytes) {
  std::string sound = as_utf8(cut_at_character(text, max_bytes));
  sound.resize(cut_at_character(sound, max_bytes).size());
  return sound;
}

void append_json_string(std::string& out, std::string_view text) {
  if (!is_valid_utf8(text)) return append_json_string(out, as_utf8(text));
  out += '"';
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<std::uint8_t>(c) >= 0x20 && c != '"' && c != '\\') continue;
    out += text.substr(copied, i - copied);
    append_escaped(out, c);
    copied = i + 1;
  }
  out += text.substr(copied);
  out += '"';
}

std::string in_quotes(std::string_view text) {
  const std::string_view shown = cut_at_character(text, quoted_bytes);
  return "'" + std::string(shown) + (shown.size() < text.size() ? "…'" : "'");
}

std::string_view cut_at_character(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t length = max_bytes;
  while (length > 0 && (static_cast<std::uint8_t>(text[length]) & 0xc0) == 0x80) --length;
  return text.substr(0, length);
}

}  // namespace spotmesh::wire
