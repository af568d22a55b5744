#include "server/names.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace tictactoe {

using spotmesh::Error;
using spotmesh::Result;

namespace {

constexpr std::size_t longest_player_name = 24;
constexpr std::size_t longest_room_name = 32;
constexpr std::size_t shortest_token = 16;
constexpr std::size_t longest_token = 128;

struct Range {
  char32_t first;
  char32_t last;
};

// Control characters, and what hides, reorders or breaks text.
constexpr Range unreadable[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
    {0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
    {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0xe0fff},
};
// Spaces, fillers, joiners and variation selectors: of use within a name, but not a name.
constexpr Range blank[] = {
    {' ', ' '},       {0xa0, 0xa0},     {0x34f, 0x34f},   {0x115f, 0x1160}, {0x1680, 0x1680},
    {0x2000, 0x200d}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x2800, 0x2800}, {0x3000, 0x3000},
    {0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xffa0, 0xffa0},
};

bool is_any_of(std::span<const Range> ranges, char32_t c) {
  return std::ranges::any_of(
      ranges, [c](const Range& range) { return c >= range.first && c <= range.last; });
}

// Of UTF-8 text, as every decoded packet has it.
std::u32string characters_of(std::string_view text) {
  std::u32string characters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) == 0x80) {
      characters.back() = characters.back() << 6 | (byte & 0x3f);
    } else if (byte < 0x80) {
      characters.push_back(byte);
    } else {
      characters.push_back(byte & (byte < 0xe0 ? 0x1f : byte < 0xf0 ? 0x0f : 0x07));
    }
  }
  return characters;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Result<std::string> clean(std::string_view name, std::string_view what, std::size_t longest) {
  const std::string_view kept = trimmed(name);
  const std::u32string characters = characters_of(kept);
  if (std::ranges::all_of(characters, [](char32_t c) { return is_any_of(blank, c); })) {
    return fail(Error::invalid_operation(fmt::format("{} needs a name", what)));
  }
  if (characters.size() > longest) {
    return fail(Error::invalid_operation(
        fmt::format("the name of {} may have {} characters; this one has {}", what, longest,
                    characters.size())));
  }
  if (std::ranges::any_of(characters, [](char32_t c) { return is_any_of(unreadable, c); })) {
    return fail(Error::invalid_operation(fmt::format(
        "the name of {} must not contain control characters or others that nobody sees", what)));
  }
  return std::string(kept);
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace

Result<std::string> clean_player_name(std::string_view name) {
  return clean(name, "a player", longest_player_name);
}

Result<std::string> clean_room_name(std::string_view name) {
  return clean(name, "a room", longest_room_name);
}

Result<void> check_device_token(std::string_view token) {
  const bool is_printable = std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; });
  if (token.size() < shortest_token || token.size() > longest_token || !is_printable) {
    return fail(Error::invalid_operation(fmt::format(
        "a device token is {} to {} printable ASCII characters", shortest_token, longest_token)));
  }
  return {};
}

std::string player_id(std::string_view name) {
  return fmt::format("{}/{}", player_type, in_lower_case(name));
}

std::string room_id(std::string_view name) {
  return fmt::format("{}/{}", room_type, in_lower_case(name));
}

std::string directory_id(const spotmesh::NodeRid& node) {
  return fmt::format("{}/{}", directory_type, node.text);
}

}  // namespace tictactoe
