#include <spotmesh/actor_ref_json.hpp>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "wire/json.hpp"
#include "wire/text.hpp"

namespace spotmesh {
namespace {

constexpr std::array<std::string_view, 4> properties = {"actorId", "objectGeneration", "meshName",
                                                        "nodeRid"};

Error malformed(std::string_view property, std::string_view fault) {
  return Error::protocol_error(fmt::format("ActorRef JSON: property '{}' {}", property, fault));
}

Result<ObjectGeneration> parse_generation(const std::string& text) {
  constexpr std::string_view property = "objectGeneration";
  if (text.empty()) return fail(malformed(property, "is empty"));
  if (text.front() == '0') return fail(malformed(property, "starts with 0"));
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return fail(malformed(property, "has a character that is no digit"));
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (max_counter - digit) / 10) {
      return fail(malformed(property, "is above 9223372036854775807"));
    }
    value = value * 10 + digit;
  }
  return ObjectGeneration{value};
}

Result<std::string> take_text(const nlohmann::json& object, std::string_view property) {
  const auto found = object.find(std::string(property));
  if (found == object.end()) return fail(malformed(property, "is missing"));
  if (!found->is_string()) return fail(malformed(property, "is no string"));
  return found->get<std::string>();
}

}  // namespace

std::string to_json(const ActorRef& ref) {
  std::string text = "{\"actorId\":";
  wire::append_json_string(text, ref.actor_id.text());
  text += ",\"objectGeneration\":\"" + std::to_string(ref.object_generation.value);
  text += "\",\"meshName\":";
  wire::append_json_string(text, ref.mesh_name);
  text += ",\"nodeRid\":";
  wire::append_json_string(text, ref.node_rid.text);
  text += '}';
  return text;
}

Result<ActorRef> actor_ref_from_json(std::string_view json) {
  auto parsed = wire::parse_json(json, {.max_bytes = 4096, .max_depth = 2});
  if (!parsed) return fail(parsed.error());
  if (!parsed->is_object()) return fail(Error::protocol_error("ActorRef JSON is no object"));
  for (const auto& [name, value] : parsed->items()) {
    if (std::ranges::find(properties, name) == properties.end()) {
      return fail(malformed(name, "is unknown"));
    }
  }
  auto id = take_text(*parsed, "actorId");
  if (!id) return fail(id.error());
  auto actor_id = ActorId::parse(*id);
  if (!actor_id) return fail(malformed("actorId", actor_id.error().message()));
  auto generation_text = take_text(*parsed, "objectGeneration");
  if (!generation_text) return fail(generation_text.error());
  auto generation = parse_generation(*generation_text);
  if (!generation) return fail(generation.error());
  auto mesh = take_text(*parsed, "meshName");
  if (!mesh) return fail(mesh.error());
  auto rid = take_text(*parsed, "nodeRid");
  if (!rid) return fail(rid.error());
  return ActorRef{*std::move(actor_id), *generation, *std::move(mesh), NodeRid{*std::move(rid)}};
}

}  // namespace spotmesh
