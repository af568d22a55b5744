#include "server/names.hpp"

#include <catch2/catch.hpp>

#include <string>

using spotmesh::ErrorKind;
using tictactoe::check_device_token;
using tictactoe::clean_player_name;
using tictactoe::clean_room_name;

namespace {

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("spaces around a name are no part of it") {
  CHECK(clean_player_name("  Ann ") == "Ann");
  CHECK(clean_room_name("Quiet Garden") == "Quiet Garden");
}

TEST_CASE("a name is counted in characters, not in bytes") {
  CHECK(clean_player_name(repeated("ø", 24)).has_value());
  CHECK(clean_room_name(repeated("室", 32)).has_value());
  const auto longer = clean_player_name(repeated("ø", 25));
  REQUIRE_FALSE(longer);
  CHECK(longer.error().kind() == ErrorKind::InvalidOperation);
  CHECK(longer.error().message() == "the name of a player may have 24 characters; this one has 25");
  CHECK_FALSE(clean_room_name(repeated("室", 33)));
}

TEST_CASE("a name that nobody could read is refused") {
  CHECK(clean_player_name("").error().message() == "a player needs a name");
  CHECK(clean_room_name("   ").error().message() == "a room needs a name");
  CHECK_FALSE(clean_player_name("An\nn"));
  CHECK_FALSE(clean_player_name("Ann\x7f"));
  for (const char* unseen : {"\u00a0", "\u200d", "\u3000\u3000", "\u2800", "\u3164", "\ufe0f"}) {
    INFO(unseen);
    CHECK(clean_player_name(unseen).error().message() == "a player needs a name");
  }
  for (const char* steering : {"Ann\u200b", "\u202eAnn", "A\u2028nn", "\ufeffAnn", "Ann\u0085",
                               "An\u00adn", "Ann\u2066"}) {
    INFO(steering);
    CHECK_FALSE(clean_player_name(steering));
  }
}

TEST_CASE("a name may be written in any script, and be a picture") {
  for (const char* name : {"Zoë", "مرحبا", "漢字", "😀", "👨‍👩‍👧‍👦", "☕️",
                           "می‌خواهم", "🏳️‍🌈"}) {
    INFO(name);
    CHECK(clean_player_name(name) == name);
  }
}

TEST_CASE("the case of letters makes no other player and no other room") {
  CHECK(tictactoe::player_id("ANN") == tictactoe::player_id("ann"));
  CHECK(tictactoe::room_id("Den") == tictactoe::room_id("dEN"));
  CHECK(tictactoe::player_id("ann") != tictactoe::room_id("ann"));
  CHECK(tictactoe::player_id("ann") != tictactoe::player_id("anna"));
}

TEST_CASE("a device token is long enough to be a secret, and printable") {
  CHECK(check_device_token(std::string(16, 'x')));
  CHECK(check_device_token(std::string(128, 'x')));
  CHECK_FALSE(check_device_token(std::string(15, 'x')));
  CHECK_FALSE(check_device_token(std::string(129, 'x')));
  CHECK_FALSE(check_device_token("0123456789abcde "));
  CHECK_FALSE(check_device_token("0123456789abcdé-"));
}
