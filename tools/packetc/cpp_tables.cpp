#include "packetc/cpp_names.hpp"
#include "packetc/cpp_parts.hpp"
#include "packetc/cpp_types.hpp"

namespace spotmesh::packetc {
namespace {

using flatbuffers::StructDef;

std::string verify_call(const CppField& field) {
  const auto with = [&](std::string_view function, std::string_view arguments) {
    return fmt::format("verifier.{}<{}>(table, {})", function, field.element, arguments);
  };
  const auto offset = std::to_string(field.offset);
  const auto offset_and_presence = fmt::format("{}, {}", field.offset, field.presence());
  const auto both = fmt::format("{}, {}", field.type_offset, offset_and_presence);
  switch (field.kind) {
    case FieldKind::scalar:
    case FieldKind::optional_scalar:
      return with("scalar", offset);
    case FieldKind::string:
      return fmt::format("verifier.string(table, {})", offset_and_presence);
    case FieldKind::strings:
      return fmt::format("verifier.strings(table, {})", offset_and_presence);
    case FieldKind::bytes:
    case FieldKind::scalars:
      return with("scalars", offset_and_presence);
    case FieldKind::structure:
      return with("structure", offset_and_presence);
    case FieldKind::structures:
      return with("structures", offset_and_presence);
    case FieldKind::table:
      return with("table", offset_and_presence);
    case FieldKind::tables:
      return with("tables", offset_and_presence);
    case FieldKind::union_value:
      return fmt::format("verifier.union_value<{}Type>(table, {})", field.element, both);
    case FieldKind::union_values:
      return fmt::format("verifier.union_values<{}Type>(table, {})", field.element, both);
  }
  return "";
}

void write_verify(Writer& out, const StructDef& table, const CppTypes& types) {
  out.line("bool TableCodec<{}>::verify([[maybe_unused]] Verifier& verifier,",
           cpp_qualified(table));
  out.line("    [[maybe_unused]] const flatbuffers::Table& table) {");
  std::string text;
  for (const auto& field : types.fields(table)) {
    text += (text.empty() ? "" : " &&\n         ") + verify_call(field);
  }
  out.line("  return {};", text.empty() ? "true" : text);
  out.line("}\n");
}

// The call that writes what a field refers to, or nothing for fields that lie in the table itself.
std::string child_call(const CppField& field, const std::string& table) {
  const auto value = "value." + field.name;
  const auto name = fmt::format("{}.{}", table, field.definition->name);
  switch (field.kind) {
    case FieldKind::string:
      return fmt::format("string({}, {})", value, field.presence());
    case FieldKind::strings:
      return fmt::format("strings({}, {})", value, field.presence());
    case FieldKind::bytes:
      return fmt::format("bytes({}, {})", value, field.presence());
    case FieldKind::scalars:
      return fmt::format("scalars({}, {})", value, field.presence());
    case FieldKind::structures:
      return fmt::format("structures({}, {})", value, field.presence());
    case FieldKind::table:
      return fmt::format("table({})", value);
    case FieldKind::tables:
      return fmt::format("tables({}, {})", value, field.presence());
    case FieldKind::union_value:
      return fmt::format("union_value<{}Type>({}, {}, \"{}\")", field.element, value,
                         field.presence(), name);
    case FieldKind::union_values:
      return fmt::format("union_values<{}Type>({}, {}, \"{}\")", field.element, value,
                         field.presence(), name);
    default:
      return "";
  }
}

void write_fill(Writer& out, const CppField& field) {
  const auto value = "value." + field.name;
  switch (field.kind) {
    case FieldKind::scalar:
      out.line("  encoder.add_scalar({}, {}, {});", field.offset, value,
               scalar_literal(field.definition->value.type, field.definition->value.constant));
      break;
    case FieldKind::optional_scalar:
      out.line("  encoder.add_scalar({}, {});", field.offset, value);
      break;
    case FieldKind::structure:
      out.line("  encoder.add_structure({}, {});", field.offset, value);
      break;
    case FieldKind::union_values:
      out.line("  encoder.add_offset({}, {}_kinds_in);", field.type_offset, field.definition->name);
      out.line("  encoder.add_offset({}, {}_at);", field.offset, field.definition->name);
      break;
    default:
      out.line("  encoder.add_offset({}, {}_at);", field.offset, field.definition->name);
  }
}

void write_encode(Writer& out, const StructDef& table, const CppTypes& types) {
  out.line("std::uint32_t TableCodec<{}>::encode(Encoder& encoder,", cpp_qualified(table));
  out.line("    [[maybe_unused]] const {}& value) {{", cpp_qualified(table));
  for (const auto& field : types.fields(table)) {
    const auto call = child_call(field, full_name(table));
    if (call.empty()) continue;
    if (field.kind == FieldKind::union_values) {
      out.line("  const auto {}_kinds_in = encoder.union_types<{}Type>(value.{}, {});",
               field.definition->name, field.element, field.name, field.presence());
    }
    out.line("  const auto {}_at = encoder.{};", field.definition->name, call);
  }
  out.line("  const auto start_of_table = encoder.begin_table();");
  const auto fields = types.fields_by_width(table);
  for (const auto& field : fields) write_fill(out, field);
  for (const auto& field : fields) {
    if (field.kind != FieldKind::union_value) continue;
    out.line("  encoder.add_scalar({0}, UnionCodec<{1}Type>::type(value.{2}), {1}Type{{}});",
             field.type_offset, field.element, field.name);
  }
  out.line("  return encoder.end_table(start_of_table);");
  out.line("}\n");
}

std::string decode_statement(const CppField& field) {
  const auto assign = [&](std::string_view function) {
    return fmt::format("value.{} = {}<{}>(table, {});", field.name, function, field.element,
                       field.offset);
  };
  const auto assign_union = [&](std::string_view function) {
    return fmt::format("value.{} = {}<{}Type>(table, {}, {});", field.name, function, field.element,
                       field.type_offset, field.offset);
  };
  switch (field.kind) {
    case FieldKind::scalar:
      return fmt::format(
          "value.{} = decode_scalar<{}>(table, {}, {});", field.name, field.element, field.offset,
          scalar_literal(field.definition->value.type, field.definition->value.constant));
    case FieldKind::optional_scalar:
      return assign("decode_scalar");
    case FieldKind::string:
      return fmt::format("value.{} = decode_string(table, {});", field.name, field.offset);
    case FieldKind::strings:
      return fmt::format("value.{} = decode_strings(table, {});", field.name, field.offset);
    case FieldKind::bytes:
      return fmt::format(
          "const auto {0}_bytes = decode_bytes(table, {1});\n"
          "  value.{2}.assign({0}_bytes.begin(), {0}_bytes.end());",
          field.definition->name, field.offset, field.name);
    case FieldKind::scalars:
      return assign("decode_scalars");
    case FieldKind::structure:
      return assign(field.is_required ? "*decode_structure" : "decode_structure");
    case FieldKind::structures:
      return assign("decode_structures");
    case FieldKind::table:
      if (field.is_required) return assign("decode_required_table");
      return fmt::format("decode_table<{}>(table, {}, value.{});", field.element, field.offset,
                         field.name);
    case FieldKind::tables:
      return assign("decode_tables");
    case FieldKind::union_value:
      return assign_union("decode_union");
    case FieldKind::union_values:
      return assign_union("decode_unions");
  }
  return "";
}

void write_decode(Writer& out, const StructDef& table, const CppTypes& types) {
  out.line("void TableCodec<{}>::decode([[maybe_unused]] const flatbuffers::Table& table,",
           cpp_qualified(table));
  out.line("    [[maybe_unused]] {}& value) {{", cpp_qualified(table));
  for (const auto& field : types.fields(table)) out.line("  {}", decode_statement(field));
  out.line("}\n");
}

}  // namespace

void write_table_codec(Writer& out, const StructDef& table, const CppTypes& types) {
  write_verify(out, table, types);
  write_encode(out, table, types);
  write_decode(out, table, types);
}

}  // namespace spotmesh::packetc
