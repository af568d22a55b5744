#include "packetc/cpp_names.hpp"
#include "packetc/cpp_parts.hpp"
#include "packetc/cpp_types.hpp"

namespace spotmesh::packetc {
namespace {

using flatbuffers::EnumDef;
using flatbuffers::EnumVal;

std::string enumerator(const EnumDef& definition, const EnumVal& value) {
  return fmt::format("{}{}::{}", cpp_qualified(definition), definition.is_union ? "Type" : "",
                     cpp_identifier(value.name));
}

void write_plain_enum(Writer& out, const EnumDef& definition, const std::string& name) {
  out.line("std::string_view to_string({} value) {{", name);
  out.line("  switch (value) {");
  for (const auto* value : definition.Vals()) {
    out.line("    case {}:", enumerator(definition, *value));
    out.line("      return \"{}\";", value->name);
  }
  out.line("  }");
  out.line("  return {};");
  out.line("}\n");
  out.line("bool parse(std::string_view text, {}& value) {{", name);
  for (const auto* value : definition.Vals()) {
    out.line("  if (text == \"{}\") {{", value->name);
    out.line("    value = {};", enumerator(definition, *value));
    out.line("    return true;");
    out.line("  }");
  }
  out.line("  return false;");
  out.line("}\n");
}

void write_flags_enum(Writer& out, const EnumDef& definition, const std::string& name) {
  out.line("std::string to_string({} value) {{", name);
  out.line("  std::string text;");
  for (const auto* value : definition.Vals()) {
    out.line("  if ((value & {0}) == {0}) text += text.empty() ? \"{1}\" : \" {1}\";",
             enumerator(definition, *value), value->name);
  }
  out.line("  return text;");
  out.line("}\n");
  out.line("bool parse(std::string_view text, {}& value) {{", name);
  out.line("  auto flags = {}{{}};", name);
  out.line("  while (!text.empty()) {");
  out.line("    const auto word = text.substr(0, text.find(' '));");
  std::string_view branch = "if";
  for (const auto* value : definition.Vals()) {
    out.line("    {} (word == \"{}\") {{", branch, value->name);
    out.line("      flags |= {};", enumerator(definition, *value));
    branch = "} else if";
  }
  out.line("    } else {");
  out.line("      return false;");
  out.line("    }");
  out.line("    if (word.size() == text.size()) break;");
  out.line("    text.remove_prefix(word.size() + 1);");
  out.line("    if (text.empty()) return false;");
  out.line("  }");
  out.line("  value = flags;");
  out.line("  return true;");
  out.line("}\n");
}

}  // namespace

void write_enum_functions(Writer& out, const EnumDef& definition) {
  const auto name = cpp_identifier(definition.name) + (definition.is_union ? "Type" : "");
  if (definition.attributes.Lookup("bit_flags") != nullptr) {
    write_flags_enum(out, definition, name);
  } else {
    write_plain_enum(out, definition, name);
  }
}

}  // namespace spotmesh::packetc
