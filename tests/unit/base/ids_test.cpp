#include <catch2/catch.hpp>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

using spotmesh::ActorId;
using spotmesh::ErrorKind;

namespace {

std::string repeated(std::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

}  // namespace

TEST_CASE("an id is 1 to 255 bytes of UTF-8", "[ID-01]") {
  CHECK(ActorId::parse("a").has_value());
  CHECK(ActorId::parse(repeated("a", 255)).has_value());
  CHECK(ActorId::parse(repeated("\xe2\x82\xac", 85)).has_value());
  for (const std::string& bad :
       {std::string(), repeated("a", 256), repeated("\xe2\x82\xac", 86), std::string("\xff"),
        std::string("\xc0\xaf"), std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80"),
        std::string("\xe2\x82")}) {
    auto id = ActorId::parse(bad);
    REQUIRE_FALSE(id.has_value());
    CHECK(id.error().kind() == ErrorKind::InvalidOperation);
    CHECK(id.error().message().find("ActorId") != std::string::npos);
  }
}

TEST_CASE("ids compare byte by byte", "[ID-02]") {
  const auto composed = ActorId::parse("\xc3\xa9");
  const auto decomposed = ActorId::parse("e\xcc\x81");
  CHECK(*composed != *decomposed);
  CHECK(*ActorId::parse("Player") != *ActorId::parse("player"));
}

TEST_CASE("a node prefix keeps to its alphabet") {
  CHECK(spotmesh::validate_prefix("play.eu-1_a").has_value());
  CHECK_FALSE(spotmesh::validate_prefix("").has_value());
  CHECK_FALSE(spotmesh::validate_prefix("a b").has_value());
  CHECK_FALSE(spotmesh::validate_prefix(repeated("a", 65)).has_value());
}

TEST_CASE("a uuid carries version 4 and the RFC variant") {
  CHECK(spotmesh::uuid_v4(0, 0) == "00000000-0000-4000-8000-000000000000");
  CHECK(spotmesh::uuid_v4(~0ULL, ~0ULL) == "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

TEST_CASE("error kinds have their wire numbers and names", "[ERR-06]") {
  CHECK(static_cast<int>(ErrorKind::NotFound) == 0);
  CHECK(static_cast<int>(ErrorKind::InvalidOperation) == 10);
  CHECK(static_cast<int>(ErrorKind::InternalFailure) == 12);
  CHECK(spotmesh::to_string(ErrorKind::NotFound) == "NotFound");
  CHECK(spotmesh::to_string(ErrorKind::InternalFailure) == "InternalFailure");
  CHECK(to_string(spotmesh::Error::rejected("no")) == "Rejected: no");
}
