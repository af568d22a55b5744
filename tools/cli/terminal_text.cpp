#include "cli/terminal_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "base/utf8.hpp"

namespace spotmesh::cli {
namespace {

struct Character {
  std::size_t length = 1;  // bytes
  bool is_valid = false;
  char32_t code_point = 0;
};

Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, true, lead};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (text.size() < length || !is_valid_utf8(text.substr(0, length))) return {};
  char32_t code_point = lead & (0xff >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    code_point = code_point << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  }
  return {length, true, code_point};
}

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t c) {
  return std::ranges::any_of(
      ranges, [c](const Range& range) { return c >= range.first && c <= range.last; });
}

// Control characters, separators of lines, and what cannot be seen or reorders what can.
constexpr std::array<Range, 16> unsafe{{{0x00, 0x1f},
                                        {0x7f, 0xa0},
                                        {0xad, 0xad},
                                        {0x034f, 0x034f},
                                        {0x061c, 0x061c},
                                        {0x115f, 0x1160},
                                        {0x17b4, 0x17b5},
                                        {0x180b, 0x180f},
                                        {0x2000, 0x200f},
                                        {0x2028, 0x202f},
                                        {0x205f, 0x206f},
                                        {0x3000, 0x3000},
                                        {0x3164, 0x3164},
                                        {0xfeff, 0xfeff},
                                        {0xfff0, 0xfffb},
                                        {0xe0000, 0x10ffff}}};

constexpr std::array<Range, 7> without_width{{{0x0300, 0x036f},
                                              {0x0483, 0x0489},
                                              {0x1ab0, 0x1aff},
                                              {0x1dc0, 0x1dff},
                                              {0x20d0, 0x20ff},
                                              {0xfe00, 0xfe0f},
                                              {0xfe20, 0xfe2f}}};

constexpr std::array<Range, 12> wide{{{0x1100, 0x115e},
                                      {0x2e80, 0x303e},
                                      {0x3041, 0x33ff},
                                      {0x3400, 0xa4cf},
                                      {0xa960, 0xa97f},
                                      {0xac00, 0xd7a3},
                                      {0xf900, 0xfaff},
                                      {0xfe30, 0xfe4f},
                                      {0xff00, 0xff60},
                                      {0xffe0, 0xffe6},
                                      {0x1f300, 0x1faff},
                                      {0x20000, 0x3fffd}}};

void add_escape(std::string& out, char32_t c) {
  switch (c) {
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
      fmt::format_to(std::back_inserter(out), "\\u{{{:x}}}", static_cast<std::uint32_t>(c));
  }
}

// Escapes what a terminal may not show, and with quotes what stands between them would end.
struct Escaped {
  std::string text;
  bool is_odd = false;  // it needs quotes
};

Escaped escaped(std::string_view text, bool is_quoted) {
  Escaped out;
  for (; !text.empty();) {
    const Character c = first_character(text);
    const bool is_plain = c.is_valid && !is_in(unsafe, c.code_point);
    if (!c.is_valid) {
      fmt::format_to(std::back_inserter(out.text), "\\x{:02x}",
                     static_cast<unsigned char>(text[0]));
    } else if (!is_plain) {
      add_escape(out.text, c.code_point);
    } else {
      const bool needs_backslash = c.code_point == '"' || c.code_point == '\\';
      out.is_odd = out.is_odd || needs_backslash || c.code_point == ' ';
      if (is_quoted && needs_backslash) out.text += '\\';
      out.text += text.substr(0, c.length);
    }
    out.is_odd = out.is_odd || !is_plain;
    text.remove_prefix(c.length);
  }
  return out;
}

void add_json_escape(std::string& out, char32_t c) {
  auto inserter = std::back_inserter(out);
  const auto value = static_cast<std::uint32_t>(c);
  if (value < 0x10000) {
    fmt::format_to(inserter, "\\u{:04x}", value);
    return;
  }
  const std::uint32_t high = 0xd800 + ((value - 0x10000) >> 10);
  const std::uint32_t low = 0xdc00 + ((value - 0x10000) & 0x3ff);
  fmt::format_to(inserter, "\\u{:04x}\\u{:04x}", high, low);
}

}  // namespace

std::string shown(std::string_view text) {
  const Escaped inside = escaped(text, true);
  return inside.is_odd || text.empty() ? '"' + inside.text + '"' : inside.text;
}

std::string shown_words(std::string_view text) { return escaped(text, false).text; }

std::string shown_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const Character c = first_character(json);
    // Control characters below 0x20 stand between values alone.
    if (c.is_valid && c.code_point >= 0x20 && is_in(unsafe, c.code_point)) {
      add_json_escape(out, c.code_point);
    } else if (!c.is_valid) {
      out += "\\ufffd";
    } else {
      out += json.substr(0, c.length);
    }
    json.remove_prefix(c.length);
  }
  return out;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character c = first_character(text);
    if (!is_in(without_width, c.code_point)) columns += is_in(wide, c.code_point) ? 2 : 1;
    text.remove_prefix(c.length);
  }
  return columns;
}

}  // namespace spotmesh::cli
