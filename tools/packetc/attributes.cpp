#include "packetc/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "packetc/source_text.hpp"

namespace spotmesh::packetc {
namespace {

enum class ValueKind { none, word, number, table };

struct Attribute {
  std::string_view name;
  ValueKind kind;
  std::array<std::string_view, 4> words;  // allowed for ValueKind::word; empty ones do not count
};

constexpr std::array<Attribute, 6> attributes = {{
    {"not_a_packet", ValueKind::none, {}},
    {"direction", ValueKind::word, {"client_to_server", "server_to_client", "both", "internal"}},
    {"delivery", ValueKind::word, {"reliable", "latest", "", ""}},
    {"drop_after_ms", ValueKind::number, {}},
    {"max_bytes", ValueKind::number, {}},
    {"reply", ValueKind::table, {}},
}};

bool is_positive_number(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number != 0;
}

std::string wrong_value(const flatbuffers::Parser& parser, const flatbuffers::StructDef& object,
                        const Attribute& attribute, const std::string& value) {
  switch (attribute.kind) {
    case ValueKind::none:
      return value == "0" || value.empty() ? "" : "takes no value";
    case ValueKind::word: {
      if (!value.empty() && std::ranges::find(attribute.words, value) != attribute.words.end()) {
        return "";
      }
      std::string allowed;
      for (const auto word : attribute.words) {
        if (!word.empty()) allowed += fmt::format("{}\"{}\"", allowed.empty() ? "" : ", ", word);
      }
      return fmt::format("is \"{}\"; it must be one of {}", value, allowed);
    }
    case ValueKind::number:
      if (is_positive_number(value)) return "";
      return fmt::format("is {}; it must be a whole number from 1 to {}", value,
                         std::numeric_limits<std::uint32_t>::max());
    case ValueKind::table: {
      const auto* reply = parser.LookupStruct(value);
      if (reply == nullptr) {
        reply = parser.LookupStruct(object.defined_namespace->GetFullyQualifiedName(value));
      }
      if (reply != nullptr && is_packet(*reply)) return "";
      return fmt::format("is \"{}\", which is no packet of this schema", value);
    }
  }
  return "";
}

}  // namespace

void declare_attributes(flatbuffers::Parser& parser) {
  for (const auto& attribute : attributes) {
    parser.known_attributes_[std::string(attribute.name)] = false;
  }
}

Checked<void> check_attributes(const flatbuffers::Parser& parser,
                               const flatbuffers::StructDef& object) {
  const auto refuse_here = [&](std::string_view field, std::string message) {
    return refuse(at_declaration(object.file, object.name, field, std::move(message)));
  };
  for (const auto& attribute : attributes) {
    const std::string name(attribute.name);
    for (const auto* field : object.fields.vec) {
      if (field->attributes.Lookup(name) != nullptr) {
        return refuse_here(field->name,
                           fmt::format("attribute '{}' belongs to a table, not to a field", name));
      }
    }
    const auto* value = object.attributes.Lookup(name);
    if (value == nullptr) continue;
    if (object.fixed) {
      return refuse_here(
          "", fmt::format("attribute '{}' is for tables; {} is a struct", name, object.name));
    }
    const auto wrong = wrong_value(parser, object, attribute, value->constant);
    if (!wrong.empty()) {
      return refuse_here("", fmt::format("attribute '{}' of {} {}", name, object.name, wrong));
    }
  }
  return {};
}

bool is_packet(const flatbuffers::StructDef& object) {
  return !object.fixed && object.attributes.Lookup("not_a_packet") == nullptr;
}

}  // namespace spotmesh::packetc
