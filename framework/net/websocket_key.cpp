#include "net/websocket_key.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace spotmesh::net {

namespace {

constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

using Sha1 = std::array<std::uint8_t, 20>;

// SHA-1 (FIPS 180-4), which the opening prescribes as a checksum; nothing secret depends on it.
void mix_block(std::array<std::uint32_t, 5>& state, std::span<const std::uint8_t, 64> block) {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | block[i * 4 + j];
  }
  for (std::size_t i = 16; i < 80; ++i) {
    w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  }
  auto [a, b, c, d, e] = state;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t f = b ^ c ^ d;
    std::uint32_t k = i < 40 ? 0x6ed9eba1U : 0xca62c1d6U;
    if (i < 20) {
      f = (b & c) | (~b & d);
      k = 0x5a827999U;
    } else if (i >= 40 && i < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8f1bbcdcU;
    }
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const std::array<std::uint32_t, 5> mixed{a, b, c, d, e};
  for (std::size_t i = 0; i < 5; ++i) state[i] += mixed[i];
}

Sha1 sha1(std::string_view text) {
  std::string padded(text);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift & 0xff);

  std::array<std::uint32_t, 5> state{0x67452301U, 0xefcdab89U, 0x98badcfeU, 0x10325476U,
                                     0xc3d2e1f0U};
  std::array<std::uint8_t, 64> block{};
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    std::transform(padded.begin() + static_cast<std::ptrdiff_t>(at),
                   padded.begin() + static_cast<std::ptrdiff_t>(at + 64), block.begin(),
                   [](char c) { return static_cast<std::uint8_t>(c); });
    mix_block(state, block);
  }
  Sha1 digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

std::string base64(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? bytes[at + i] : 0U);
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? base64_digits[group >> (18 - 6 * i) & 0x3f] : '=';
    }
  }
  return text;
}

}  // namespace

std::string make_websocket_key(Random& random) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t bits = random.next_u64();
    for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::uint8_t>(bits >> (8 * i));
  }
  return base64(bytes);
}

bool is_websocket_key(std::string_view key) {
  if (key.size() != 24 || !key.ends_with("==")) return false;
  // The last digit holds two bits of the sixteenth byte; its other four are zero.
  if (std::string_view("AQgw").find(key[21]) == std::string_view::npos) return false;
  return key.substr(0, 22).find_first_not_of(base64_digits) == std::string_view::npos;
}

std::string websocket_accept(std::string_view key) {
  return base64(sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
}

}  // namespace spotmesh::net
