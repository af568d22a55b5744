#include "wire/base64.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using spotmesh::Bytes;
using spotmesh::to_bytes;
using spotmesh::wire::append_base64;
using spotmesh::wire::decode_base64;

std::string encoded(spotmesh::ByteView bytes) {
  std::string text;
  append_base64(text, bytes);
  return text;
}

}  // namespace

TEST_CASE("base64 agrees with the vectors of RFC 4648") {
  const std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"},
                                                                    {"\xfb\xff\xfe", "+//+"}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(encoded(to_bytes(bytes)) == text);
    CHECK(decode_base64(text) == to_bytes(bytes));
  }
}

TEST_CASE("base64 that is not the one text of its bytes is refused") {
  for (const auto* text : {"Z", "Zg", "Zg=", "Zg===", "=",
                           "==", "====", "Z===", "Zh==", "Zm9=", "Zg== ", " Zg==", "Zm9\n", "Zm 9",
                           "Zg==Zg==", "Zm=v", "Z-_v", "Zm8=Zm9v", "\xc3\xa9zz"}) {
    CHECK(decode_base64(text) == std::nullopt);
  }
}

TEST_CASE("random bytes survive base64") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes(random() % 70);
    for (auto& octet : bytes) octet = static_cast<std::byte>(random());
    REQUIRE(decode_base64(encoded(bytes)) == bytes);
  }
}
