#include "packetc/source_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace spotmesh::packetc {
namespace {

struct Token {
  std::string_view text;
  std::size_t position = 0;
};

bool is_word(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' ||
         character == '.';
}

std::size_t after_comment(std::string_view text, std::size_t position) {
  const bool is_line = text[position + 1] == '/';
  const auto end = text.find(is_line ? "\n" : "*/", position + 2);
  if (end == std::string_view::npos) return text.size();
  return is_line ? end : end + 2;
}

std::size_t after_string(std::string_view text, std::size_t position) {
  for (++position; position < text.size() && text[position] != '"'; ++position) {
    if (text[position] == '\\') ++position;
  }
  return std::min(position + 1, text.size());
}

// Words and single punctuation characters, without comments and strings.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t position = 0; position < text.size();) {
    const char character = text[position];
    if (character == '/' && position + 1 < text.size() &&
        (text[position + 1] == '/' || text[position + 1] == '*')) {
      position = after_comment(text, position);
    } else if (character == '"') {
      position = after_string(text, position);
    } else if (std::isspace(static_cast<unsigned char>(character)) != 0) {
      ++position;
    } else {
      auto end = position + 1;
      while (is_word(character) && end < text.size() && is_word(text[end])) ++end;
      tokens.push_back({text.substr(position, end - position), position});
      position = end;
    }
  }
  return tokens;
}

bool starts_declaration(std::string_view word) {
  constexpr std::array<std::string_view, 4> words = {"table", "struct", "enum", "union"};
  return std::ranges::find(words, word) != words.end();
}

std::optional<std::size_t> find_position(const std::vector<Token>& tokens,
                                         std::string_view declaration, std::string_view field) {
  for (std::size_t index = 0; index + 1 < tokens.size(); ++index) {
    if (!starts_declaration(tokens[index].text) || tokens[index + 1].text != declaration) continue;
    const auto found = tokens[index + 1].position;
    if (field.empty()) return found;
    for (auto inner = index + 2; inner + 1 < tokens.size() && tokens[inner].text != "}"; ++inner) {
      if (tokens[inner].text == field && tokens[inner + 1].text == ":") {
        return tokens[inner].position;
      }
    }
    return found;
  }
  return std::nullopt;
}

}  // namespace

std::string Diagnostic::text() const {
  if (line == 0) return fmt::format("{}: {}", file, message);
  return fmt::format("{}:{}:{}: {}", file, line, column, message);
}

Diagnostic at_declaration(const std::string& file, std::string_view declaration,
                          std::string_view field, std::string message) {
  Diagnostic diagnostic{file, 0, 0, std::move(message)};
  std::ifstream stream(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  const auto position = find_position(tokens_of(text), declaration, field);
  if (!position) return diagnostic;
  const auto before = std::string_view(text).substr(0, *position);
  const auto line_start = before.rfind('\n');
  diagnostic.line = 1 + static_cast<int>(std::ranges::count(before, '\n'));
  diagnostic.column = static_cast<int>(
      line_start == std::string_view::npos ? *position + 1 : *position - line_start);
  return diagnostic;
}

}  // namespace spotmesh::packetc
