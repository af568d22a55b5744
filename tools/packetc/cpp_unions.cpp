#include "packetc/cpp_names.hpp"
#include "packetc/cpp_parts.hpp"
#include "packetc/cpp_types.hpp"

namespace spotmesh::packetc {
namespace {

using flatbuffers::EnumDef;
using flatbuffers::EnumVal;

bool is_none(const EnumVal& value) {
  return value.union_type.base_type == flatbuffers::BASE_TYPE_NONE;
}

// The functions of Verifier, Encoder and decoder.hpp that serve this alternative.
std::string function_of(const EnumVal& value, std::string_view prefix) {
  const auto& type = value.union_type;
  if (type.struct_def == nullptr) return fmt::format("{}string", prefix);
  return fmt::format("{}{}<{}>", prefix, type.struct_def->fixed ? "structure" : "table",
                     plain_type(type));
}

void write_verify(Writer& out, const EnumDef& definition) {
  const auto type = cpp_qualified(definition) + "Type";
  out.line("bool UnionCodec<{0}>::verify(Verifier& verifier, {0} type,", type);
  out.line("    const std::uint8_t* value) {");
  out.line("  switch (type) {");
  for (const auto* value : definition.Vals()) {
    if (is_none(*value)) continue;
    out.line("    case {}::{}:", type, cpp_identifier(value->name));
    out.line("      return verifier.{}(value);", function_of(*value, ""));
  }
  // What a newer sender adds: the value is not looked at, and decodes to none.
  out.line("    default:");
  out.line("      return true;");
  out.line("  }");
  out.line("}\n");
}

void write_type(Writer& out, const EnumDef& definition, const CppTypes& types) {
  const auto type = cpp_qualified(definition) + "Type";
  out.line("{0} UnionCodec<{0}>::type(const Value& value) {{", type);
  out.line("  switch (value.index()) {");
  std::size_t index = 0;
  for (const auto* value : definition.Vals()) {
    const bool is_boxed =
        types.alternative_type(definition, *value).starts_with("::spotmesh::Boxed");
    out.line("    case {}:", index);
    if (is_boxed) out.line("      if (!std::get<{}>(value)) return {}{{}};", index, type);
    out.line("      return {}::{};", type, cpp_identifier(value->name));
    ++index;
  }
  out.line("    default:");
  out.line("      return {}{{}};", type);
  out.line("  }");
  out.line("}\n");
}

void write_encode(Writer& out, const EnumDef& definition) {
  out.line("std::uint32_t UnionCodec<{}Type>::encode([[maybe_unused]] Encoder& encoder,",
           cpp_qualified(definition));
  out.line("    const Value& value) {");
  out.line("  switch (value.index()) {");
  std::size_t index = 0;
  for (const auto* value : definition.Vals()) {
    if (!is_none(*value)) {
      const auto& alternative = value->union_type;
      const bool is_string = alternative.struct_def == nullptr;
      const bool is_structure = !is_string && alternative.struct_def->fixed;
      out.line("    case {}:", index);
      out.line("      return encoder.{}(std::get<{}>(value){});",
               is_string      ? "string"
               : is_structure ? "structure"
                              : "table",
               index, is_string ? ", Presence::required" : "");
    }
    ++index;
  }
  out.line("    default:");
  out.line("      return 0;");
  out.line("  }");
  out.line("}\n");
}

void write_decode(Writer& out, const EnumDef& definition) {
  const auto type = cpp_qualified(definition) + "Type";
  out.line("void UnionCodec<{0}>::decode({0} type,", type);
  out.line("    [[maybe_unused]] const std::uint8_t* address, Value& value) {");
  out.line("  switch (type) {");
  std::size_t index = 0;
  for (const auto* value : definition.Vals()) {
    if (!is_none(*value)) {
      out.line("    case {}::{}:", type, cpp_identifier(value->name));
      out.line("      value.emplace<{}>({}(address));", index, function_of(*value, "decode_"));
      out.line("      break;");
    }
    ++index;
  }
  out.line("    default:");
  out.line("      value = std::monostate{};");
  out.line("  }");
  out.line("}\n");
}

}  // namespace

void write_union_codec(Writer& out, const EnumDef& definition, const CppTypes& types) {
  write_verify(out, definition);
  write_type(out, definition, types);
  write_encode(out, definition);
  write_decode(out, definition);
}

}  // namespace spotmesh::packetc
