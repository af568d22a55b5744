#include <algorithm>
#include <array>
#include <spotmesh/ids.hpp>

#include "base/utf8.hpp"

namespace spotmesh {
namespace {

constexpr std::size_t max_prefix_bytes = 64;

void append_hex(std::string& out, std::uint64_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) {
    out.push_back(digits[static_cast<std::size_t>((value >> shift) & 0xf)]);
  }
}

}  // namespace

Result<void> validate_id(std::string_view text, std::string_view what) {
  if (text.empty()) {
    return fail(
        Error::invalid_operation(std::string(what) + " is empty; 1 to 255 bytes are allowed"));
  }
  if (text.size() > max_id_bytes) {
    return fail(Error::invalid_operation(std::string(what) + " has " + std::to_string(text.size()) +
                                         " bytes; 1 to 255 are allowed"));
  }
  if (!is_valid_utf8(text)) {
    return fail(Error::invalid_operation(std::string(what) + " is not valid UTF-8"));
  }
  return {};
}

std::string to_hex(std::uint64_t high, std::uint64_t low) {
  std::string out;
  out.reserve(32);
  append_hex(out, high);
  append_hex(out, low);
  return out;
}

Result<void> validate_prefix(std::string_view prefix) {
  const auto is_allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (prefix.empty() || prefix.size() > max_prefix_bytes ||
      !std::ranges::all_of(prefix, is_allowed)) {
    return fail(Error::invalid_operation(
        "the prefix of node ids must be 1 to 64 characters of A-Z a-z 0-9 . _ - but is '" +
        std::string(prefix.substr(0, 80)) + "'"));
  }
  return {};
}

std::string uuid_v4(std::uint64_t high, std::uint64_t low) {
  high = (high & 0xffff'ffff'ffff'0fffULL) | 0x4000ULL;
  low = (low & 0x3fff'ffff'ffff'ffffULL) | 0x8000'0000'0000'0000ULL;
  std::string hex = to_hex(high, low);
  for (const std::size_t at : std::array<std::size_t, 4>{8, 13, 18, 23}) hex.insert(at, 1, '-');
  return hex;
}

}  // namespace spotmesh
