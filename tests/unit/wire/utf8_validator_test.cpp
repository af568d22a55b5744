#include "wire/utf8_validator.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/utf8.hpp"

using namespace spotmesh;
using spotmesh::wire::Utf8Validator;

namespace {

bool is_valid_in_one(std::string_view text) {
  Utf8Validator validator;
  return validator.feed(as_bytes(text)) && validator.is_complete();
}

bool is_valid_in_bytes(std::string_view text) {
  Utf8Validator validator;
  for (const char& byte : text) {
    if (!validator.feed(as_bytes(std::string_view(&byte, 1)))) return false;
  }
  return validator.is_complete();
}

struct BadText {
  std::string text;
  std::uint64_t position;
};

}  // namespace

TEST_CASE("text in UTF-8 is taken, whole and byte by byte") {
  const std::vector<std::string> texts{"",
                                       "plain",
                                       std::string(1, '\0'),
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5",
                                       "0123456\xc3\xa9 89abcdef\xf0\x9f\x8e\xb2"};
  for (const std::string& text : texts) {
    CHECK(is_valid_in_one(text));
    CHECK(is_valid_in_bytes(text));
  }
}

TEST_CASE("a fault in UTF-8 is named by its byte") {
  const std::vector<BadText> faults{
      {"\x80", 0},
      {"\xbf", 0},
      {"\xc0\xaf", 0},
      {"\xc1\xbf", 0},
      {"\xf5\x80", 0},
      {"\xfe", 0},
      {"\xff", 0},
      {"a\xc3(", 2},
      {"\xe0\x9f\xbf", 1},
      {"\xed\xa0\x80", 1},
      {"\xed\xbf\xbf", 1},
      {"\xf0\x8f\xbf\xbf", 1},
      {"\xf4\x90\x80", 1},
      {"\xe2\x82(", 2},
      {"\xf0\x90\x80x", 3},
      {"01234567\xff", 8},
      {"0123456\xc3\xc3", 8},
      {"0123456789abcdef01\x80", 18},
  };
  for (const BadText& fault : faults) {
    INFO("fault at " << fault.position);
    Utf8Validator validator;
    CHECK_FALSE(validator.feed(as_bytes(fault.text)));
    CHECK(validator.bad_position() == fault.position);
    CHECK_FALSE(is_valid_in_bytes(fault.text));
    CHECK_FALSE(is_valid_utf8(fault.text));
  }
}

TEST_CASE("text that ends inside a character is not complete") {
  for (const std::string text : {"\xc3", "\xe2\x82", "\xf0\x90\x80", "abc\xf4"}) {
    Utf8Validator validator;
    CHECK(validator.feed(as_bytes(text)));
    CHECK_FALSE(validator.is_complete());
    validator.reset();
    CHECK(validator.is_complete());
    CHECK(validator.feed(as_bytes("ok")));
  }
}

TEST_CASE("the incremental check agrees with the whole one on random bytes") {
  std::mt19937_64 random(3629);
  static constexpr std::string_view pieces[] = {
      "a",        "0123456789",       "\xc3\xa9", "\xe2\x82\xac",
      "\xed\xa0", "\xf0\x9f\x8e\xb2", "\xf4\x90", "\x80"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::size_t i = random() % 12; i > 0; --i) text += pieces[random() % (round % 2 ? 4 : 8)];
    if (round % 3 == 0 && !text.empty()) text.pop_back();
    REQUIRE(is_valid_in_one(text) == is_valid_utf8(text));
    REQUIRE(is_valid_in_bytes(text) == is_valid_utf8(text));
  }
}
