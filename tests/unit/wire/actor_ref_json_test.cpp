#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/actor_ref_json.hpp>

using namespace spotmesh;

namespace {

ActorRef sample(std::uint64_t generation) {
  return {*ActorId::parse("pläyer \"7\""), ObjectGeneration{generation}, "play",
          NodeRid{"play-0e1"}};
}

// The JSON of a ref with one property's text replaced.
std::string with_generation(std::string_view token) {
  return R"({"actorId":"a","objectGeneration":)" + std::string(token) +
         R"(,"meshName":"play","nodeRid":"n"})";
}

Error refusal(std::string_view json) {
  auto ref = actor_ref_from_json(json);
  if (!ref) return ref.error();
  FAIL("accepted: " << json);
  return Error::internal_failure("");
}

void check_names(std::string_view json, std::string_view property) {
  const Error error = refusal(json);
  INFO(json << " -> " << to_string(error));
  CHECK(error.kind() == ErrorKind::ProtocolError);
  CHECK(error.message().find(property) != std::string::npos);
}

}  // namespace

TEST_CASE("an ActorRef survives a round trip through its four properties", "[REF-02]") {
  CHECK(to_json({*ActorId::parse("a"), ObjectGeneration{7}, "play", NodeRid{"n"}}) ==
        R"({"actorId":"a","objectGeneration":"7","meshName":"play","nodeRid":"n"})");
  for (const std::uint64_t generation : {std::uint64_t{1}, max_counter}) {
    const auto back = actor_ref_from_json(to_json(sample(generation)));
    REQUIRE(back.has_value());
    CHECK(*back == sample(generation));
  }
}

TEST_CASE("a generation that is no plain decimal string in range is refused", "[REF-03]") {
  CHECK(actor_ref_from_json(with_generation(R"("9223372036854775807")")).has_value());
  for (const std::string_view token :
       {"7", "7.0", "null", "true", R"("")", R"("0")", R"("07")", R"("+7")", R"("-7")", R"(" 7")",
        R"("7 ")", R"("7a")", R"("0x7")", R"("9223372036854775808")", R"("18446744073709551616")",
        R"("99999999999999999999999999")"}) {
    check_names(with_generation(token), "objectGeneration");
  }
}

TEST_CASE("missing, unknown and doubled properties are refused by name", "[REF-04]") {
  const std::vector<std::pair<std::string, std::string>> all = {{"actorId", R"("a")"},
                                                                {"objectGeneration", R"("1")"},
                                                                {"meshName", R"("m")"},
                                                                {"nodeRid", R"("n")"}};
  const auto object = [&](std::string_view without, std::string_view extra) {
    std::string json = "{";
    for (const auto& [name, value] : all) {
      if (name != without) json += (json.size() > 1 ? ",\"" : "\"") + name + "\":" + value;
    }
    return json + std::string(extra) + "}";
  };
  REQUIRE(actor_ref_from_json(object("", "")).has_value());
  for (const auto& [name, value] : all) {
    check_names(object(name, ""), name);
    check_names(object("", ",\"" + name + "\":" + value), name);
  }
  check_names(object("", R"(,"spotId":"s")"), "spotId");
  CHECK(refusal("[]").kind() == ErrorKind::ProtocolError);
  CHECK(refusal(R"({"actorId":"","objectGeneration":"1","meshName":"m","nodeRid":"n"})").kind() ==
        ErrorKind::ProtocolError);
}

TEST_CASE("an ActorRef with names that are no text is still written as JSON") {
  CHECK(to_json({*ActorId::parse("a"), ObjectGeneration{7}, "\xff", NodeRid{"n\n"}}) ==
        "{\"actorId\":\"a\",\"objectGeneration\":\"7\",\"meshName\":\"\xef\xbf\xbd\","
        "\"nodeRid\":\"n\\n\"}");
}
