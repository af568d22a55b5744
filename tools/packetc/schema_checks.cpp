#include "packetc/schema_checks.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "packetc/attributes.hpp"
#include "packetc/cpp_names.hpp"
#include "packetc/cpp_order.hpp"
#include "packetc/source_text.hpp"

namespace spotmesh::packetc {
namespace {

Checked<void> check_generated_type_names(const Schema& schema) {
  std::map<std::string, const flatbuffers::Definition*> taken;
  const auto add = [&](const flatbuffers::Definition& definition,
                       const std::string& suffix) -> Checked<void> {
    const auto name = cpp_qualified(definition) + suffix;
    const auto [place, is_new] = taken.emplace(name, &definition);
    if (is_new) return {};
    return refuse(
        at_declaration(definition.file, definition.name, "",
                       fmt::format("{} needs the C++ name {}, which {} takes; rename one of them",
                                   definition.name, name, place->second->name)));
  };
  for (const auto* object : schema.objects) {
    if (auto added = add(*object, ""); !added) return added;
  }
  for (const auto* enumeration : schema.enums) {
    if (auto added = add(*enumeration, ""); !added) return added;
    if (!enumeration->is_union) continue;
    if (auto added = add(*enumeration, "Type"); !added) return added;
  }
  for (const auto* object : schema.objects) {
    if (object->fixed) continue;
    if (auto added = add(*object, "View"); !added) return added;
  }
  return {};
}

Checked<void> check_field_names(const flatbuffers::StructDef& object) {
  std::set<std::string> taken;
  for (const auto* field : object.fields.vec) {
    if (!taken.insert(cpp_identifier(field->name)).second) {
      return refuse(at_declaration(
          object.file, object.name, field->name,
          fmt::format("field '{}' gets the C++ name of another field", field->name)));
    }
  }
  return {};
}

}  // namespace

Checked<void> check_schema(const Schema& schema) {
  for (const auto* object : schema.objects) {
    if (auto checked = check_attributes(*schema.parser, *object); !checked) return checked;
    if (auto checked = check_field_names(*object); !checked) return checked;
  }
  if (auto checked = check_generated_type_names(schema); !checked) return checked;
  return check_order(schema);
}

Checked<void> check_packet_ids(const Schema& schema) {
  std::map<std::uint32_t, const SchemaPacket*> taken;
  for (const auto& packet : schema.all_packets) {
    if (packet.id == 0) {
      return refuse(at_declaration(
          packet.table->file, packet.table->name, "",
          fmt::format("packet {} would have the id 0, which is reserved; rename it", packet.name)));
    }
    const auto [place, is_new] = taken.emplace(packet.id, &packet);
    if (!is_new) {
      return refuse(at_declaration(
          packet.table->file, packet.table->name, "",
          fmt::format("packets {} and {} would both have the id 0x{:08x}; rename one of them",
                      place->second->name, packet.name, packet.id)));
    }
  }
  return {};
}

}  // namespace spotmesh::packetc
