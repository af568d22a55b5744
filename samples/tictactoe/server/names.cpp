#include "server/names.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tictactoe {

using spotmesh::Error;
using spotmesh::Result;

namespace {

constexpr std::size_t longest_player_name = 24;
constexpr std::size_t longest_room_name = 32;
constexpr std::size_t shortest_token = 16;
constexpr std::size_t longest_token = 128;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Characters of UTF-8 text: every byte that does not continue one.
std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Result<std::string> clean(std::string_view name, std::string_view what, std::size_t longest) {
  const std::string_view kept = trimmed(name);
  if (kept.empty()) {
    return fail(Error::invalid_operation(fmt::format("{} needs a name", what)));
  }
  if (const std::size_t length = characters_in(kept); length > longest) {
    return fail(Error::invalid_operation(fmt::format(
        "the name of {} may have {} characters; this one has {}", what, longest, length)));
  }
  if (std::ranges::any_of(kept, is_control)) {
    return fail(Error::invalid_operation(
        fmt::format("the name of {} must not contain control characters", what)));
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
