#include "host/admin_target.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace spotmesh;
using namespace spotmesh::host;
using Catch::Matchers::Contains;

namespace {

objects::PageWanted wanted_by(const std::string& target, PageOf list = PageOf::Actors) {
  const auto parsed = parse_admin_target(target);
  REQUIRE(parsed.has_value());
  auto wanted = page_wanted(*parsed, list);
  REQUIRE(wanted.has_value());
  return *std::move(wanted);
}

std::string refusal_of(const std::string& target, PageOf list = PageOf::Actors) {
  const auto parsed = parse_admin_target(target);
  if (!parsed) return parsed.error().message();
  const auto wanted = page_wanted(*parsed, list);
  REQUIRE_FALSE(wanted.has_value());
  CHECK(wanted.error().kind() == ErrorKind::InvalidOperation);
  return wanted.error().message();
}

}  // namespace

TEST_CASE("a segment of a path comes back as it was, whatever is in it") {
  for (const std::string id :
       {"a", "a/b", "../..", ".", "100%", "a b+c", "한글/العربية", "e\xCC\x81 and \xC3\xA9",
        "\xE2\x80\xAE reversed", "line\nbreak\t\"quoted\" \\ <b>", "?limit=1#x&y=z", "%2F"}) {
    const auto target = parse_admin_target("/v1/actors/" + percent_encode(id));
    CAPTURE(id);
    REQUIRE(target.has_value());
    CHECK(target->path == std::vector<std::string>{"v1", "actors", id});
    CHECK(target->query.empty());
    const auto query = parse_admin_target("/v1/actors?id=" + percent_encode(id) + "&type=x");
    REQUIRE(query.has_value());
    CHECK(query->query.at("id") == id);
    CHECK(query->query.at("type") == "x");
  }
  CHECK(percent_encode("a/%+ é") == "a%2F%25%2B%20%C3%A9");
}

TEST_CASE("a plus sign is a space in a query and itself in a path") {
  const auto target = parse_admin_target("/a+b?c+d=e+f&g=%2B");
  REQUIRE(target.has_value());
  CHECK(target->path == std::vector<std::string>{"a+b"});
  CHECK(target->query.at("c d") == "e f");
  CHECK(target->query.at("g") == "+");
}

TEST_CASE("the parts of a target are what stands between its separators") {
  CHECK(parse_admin_target("/")->path.empty());
  CHECK(parse_admin_target("/a//b")->path == std::vector<std::string>{"a", "", "b"});
  CHECK(parse_admin_target("/a?")->query.empty());
  CHECK(parse_admin_target("/a?x&y=")->query.at("x").empty());
  CHECK(parse_admin_target("/a?x=1=2?3")->query.at("x") == "1=2?3");
}

TEST_CASE("a target that cannot be decoded is refused, naming the fault") {
  for (const auto& [target, part] :
       std::vector<std::pair<std::string, std::string>>{{"", "begins with '/'"},
                                                        {"http://host/x", "begins with '/'"},
                                                        {"*", "begins with '/'"},
                                                        {"/a%", "percent sign"},
                                                        {"/a%4", "percent sign"},
                                                        {"/a%4g", "percent sign"},
                                                        {"/a%+1", "percent sign"},
                                                        {"/%ff", "UTF-8"},
                                                        {"/\xC3", "UTF-8"},
                                                        {"/a?b=%ED%A0%80", "UTF-8"},
                                                        {"/a?b=1&b=1", "'b' is there twice"}}) {
    CAPTURE(target);
    const auto refused = parse_admin_target(target);
    REQUIRE_FALSE(refused.has_value());
    CHECK_THAT(refused.error().message(), Contains(part));
  }
}

TEST_CASE("what is wanted of a list stands in its parameters") {
  auto wanted = wanted_by("/v1/actors");
  CHECK(wanted.limit == admin_page_rows);
  CHECK(wanted.from == objects::PageCursor{});
  CHECK_FALSE(wanted.id.has_value());
  wanted = wanted_by("/v1/actors?limit=7&type=a%20b&mesh=play&id=x%2Fy&cursor=5-61");
  CHECK(wanted.limit == 7);
  CHECK(wanted.type == "a b");
  CHECK(wanted.mesh == "play");
  CHECK(wanted.id == "x/y");
  CHECK(wanted.from == objects::PageCursor{5, "a"});
}

TEST_CASE("a cursor comes back as it was given, and any other is refused") {
  for (const objects::PageCursor& cursor :
       {objects::PageCursor{0, ""}, objects::PageCursor{63, "a/b é \n"}}) {
    CHECK(wanted_by("/v1/spots?cursor=" + cursor_text(cursor), PageOf::Spots).from == cursor);
  }
  const std::string session(32, 'a');
  CHECK(wanted_by("/x?cursor=" + cursor_text({15, session}), PageOf::Sessions).from.after ==
        session);
  for (const std::string wrong :
       {"", "-", "5", "x-61", "64-61", "-1-61", "5-6", "5-6g", "5-ff", "99999999999999999999-61"}) {
    CAPTURE(wrong);
    CHECK_THAT(refusal_of("/v1/actors?cursor=" + wrong), Contains("cursor is none"));
  }
  CHECK_THAT(refusal_of("/x?cursor=16-", PageOf::Sessions), Contains("cursor is none"));
  CHECK_THAT(refusal_of("/x?cursor=1-61", PageOf::Sessions), Contains("cursor is none"));
}

TEST_CASE("a parameter that is not there, or out of range, is refused by name") {
  CHECK_THAT(refusal_of("/v1/actors?colour=red"),
             Contains("'colour'") && Contains("limit, cursor, type, mesh, id"));
  for (const std::string wrong : {"", "0", "1001", "-1", "x", "1x", "99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_THAT(refusal_of("/v1/actors?limit=" + wrong), Contains("from 1 to 1000"));
  }
}
