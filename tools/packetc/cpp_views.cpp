#include "packetc/cpp.hpp"
#include "packetc/cpp_names.hpp"
#include "packetc/cpp_types.hpp"
#include "packetc/writer.hpp"

namespace spotmesh::packetc {
namespace {

using flatbuffers::StructDef;

struct Accessor {
  std::string type;
  std::string name;
  std::string parameters;
  std::string body;
};

std::string optional_of(const std::string& type) { return fmt::format("std::optional<{}>", type); }
std::string vector_of(const std::string& type) {
  return fmt::format("::spotmesh::VectorView<{}>", type);
}

// The accessors of one union alternative: `shape_as_Circle()`, or `shapes_as_Circle(index)` for a
// vector.
Accessor alternative_accessor(const CppField& field, const flatbuffers::EnumDef& definition,
                              const flatbuffers::EnumVal& value, bool is_vector) {
  const auto& type = value.union_type;
  const auto plain = plain_type(type);
  Accessor accessor;
  accessor.name = fmt::format("{}_as_{}", field.definition->name, value.name);
  std::string address;
  if (is_vector) {
    accessor.parameters = "std::size_t index";
    address = fmt::format(
        "codec::decode_elements(*table_, {}).target("
        "static_cast<std::uint32_t>(index))",
        field.offset);
  } else {
    address = fmt::format("table_->GetPointer<const std::uint8_t*>({})", field.offset);
  }
  const auto actual = fmt::format("{}_type({})", field.definition->name, is_vector ? "index" : "");
  const auto guard = fmt::format("if ({} != {}Type::{}) return std::nullopt;\n  ", actual,
                                 cpp_qualified(definition), cpp_identifier(value.name));
  if (type.struct_def == nullptr) {
    accessor.type = optional_of("std::string_view");
    accessor.body = guard + fmt::format("return codec::decode_string({});", address);
  } else if (type.struct_def->fixed) {
    accessor.type = optional_of(plain);
    accessor.body = guard + fmt::format("return codec::decode_structure<{}>({});", plain, address);
  } else {
    accessor.type = optional_of(plain + "View");
    accessor.body = guard + fmt::format(
                                "return {}View(*reinterpret_cast<const flatbuffers::Table*>("
                                "{}));",
                                plain, address);
  }
  return accessor;
}

std::vector<Accessor> union_accessors(const CppField& field) {
  const bool is_vector = field.kind == FieldKind::union_values;
  const auto& definition = *field.definition->value.type.enum_def;
  std::vector<Accessor> accessors;
  if (is_vector) {
    accessors.push_back(
        {"std::size_t", field.definition->name + "_size", "",
         fmt::format("return codec::decode_elements(*table_, {}).count;", field.offset)});
    accessors.push_back({field.element + "Type", field.definition->name + "_type",
                         "std::size_t index",
                         fmt::format("return static_cast<{}Type>(codec::decode_elements(*table_, "
                                     "{}).first[index]);",
                                     field.element, field.type_offset)});
  } else {
    accessors.push_back({field.element + "Type", field.definition->name + "_type", "",
                         fmt::format("return codec::decode_scalar<{0}Type>(*table_, {1}, "
                                     "{0}Type{{}});",
                                     field.element, field.type_offset)});
  }
  for (const auto* value : definition.Vals()) {
    if (value->union_type.base_type == flatbuffers::BASE_TYPE_NONE) continue;
    accessors.push_back(alternative_accessor(field, definition, *value, is_vector));
  }
  return accessors;
}

Accessor table_accessor(const CppField& field) {
  const auto view = field.element + "View";
  const auto get = fmt::format("table_->GetPointer<const flatbuffers::Table*>({})", field.offset);
  if (field.is_required) {
    return {view, field.name, "", fmt::format("return {}(*{});", view, get)};
  }
  return {optional_of(view), field.name, "",
          fmt::format("const auto* table = {};\n"
                      "  if (table == nullptr) return std::nullopt;\n"
                      "  return {}(*table);",
                      get, view)};
}

std::vector<Accessor> accessors_of(const CppField& field) {
  const auto simple = [&](std::string type, std::string_view call) {
    return std::vector<Accessor>{
        {std::move(type), field.name, "",
         fmt::format("return codec::{}(*table_, {});", call, field.offset)}};
  };
  const auto elements = [&](const std::string& element) {
    return std::vector<Accessor>{{vector_of(element), field.name, "",
                                  fmt::format("return {}(codec::decode_elements(*table_, {}));",
                                              vector_of(element), field.offset)}};
  };
  const auto& element = field.element;
  switch (field.kind) {
    case FieldKind::scalar: {
      const auto& value = field.definition->value;
      return {{element, field.name, "",
               fmt::format("return codec::decode_scalar<{}>(*table_, {}, {});", element,
                           field.offset, scalar_literal(value.type, value.constant))}};
    }
    case FieldKind::optional_scalar:
      return simple(optional_of(element), fmt::format("decode_scalar<{}>", element));
    case FieldKind::string:
      return simple("std::string_view", "decode_string");
    case FieldKind::bytes:
      return simple("::spotmesh::ByteView", "decode_bytes");
    case FieldKind::structure: {
      auto accessor = simple(field.is_required ? element : optional_of(element),
                             fmt::format("decode_structure<{}>", element));
      if (field.is_required) accessor[0].body.insert(7, "*");
      return accessor;
    }
    case FieldKind::strings:
      return elements("std::string_view");
    case FieldKind::scalars:
    case FieldKind::structures:
      return elements(element);
    case FieldKind::tables:
      return elements(element + "View");
    case FieldKind::table:
      return {table_accessor(field)};
    case FieldKind::union_value:
    case FieldKind::union_values:
      return union_accessors(field);
  }
  return {};
}

void write_class(Writer& out, const StructDef& table, const CppTypes& types, bool is_packet) {
  out.enter_namespace(cpp_namespace(*table.defined_namespace));
  const auto name = table.name + "View";
  out.line("class {} {{", name);
  out.line(" public:");
  if (is_packet) {
    out.line(
        "  // A view of verified bytes, which must outlive it. ProtocolError when they are "
        "unsound.");
    out.line("  static ::spotmesh::Result<{}> of(::spotmesh::ByteView bytes);\n", name);
  }
  out.line("  // `table` is verified.");
  out.line("  explicit {}(const flatbuffers::Table& table) : table_(&table) {{}}\n", name);
  for (const auto& field : types.fields(table)) {
    for (const auto& accessor : accessors_of(field)) {
      out.line("  {} {}({}) const;", accessor.type, accessor.name, accessor.parameters);
    }
  }
  out.line("\n private:");
  out.line("  [[maybe_unused]] const flatbuffers::Table* table_;");
  out.line("};\n");
}

void write_functions(Writer& out, const StructDef& table, const CppTypes& types, bool is_packet) {
  out.enter_namespace(cpp_namespace(*table.defined_namespace));
  const auto name = table.name + "View";
  if (is_packet) {
    out.line("inline ::spotmesh::Result<{0}> {0}::of(::spotmesh::ByteView bytes) {{", name);
    out.line("  const auto table = ::spotmesh::codec::view_packet<{}>(bytes);",
             cpp_qualified(table));
    out.line("  if (!table) return ::spotmesh::fail(table.error());");
    out.line("  return {}(**table);", name);
    out.line("}\n");
  }
  for (const auto& field : types.fields(table)) {
    for (const auto& accessor : accessors_of(field)) {
      out.line("inline {} {}::{}({}) const {{", accessor.type, name, accessor.name,
               accessor.parameters);
      out.line("  namespace codec = ::spotmesh::codec;");
      out.line("  {}", accessor.body);
      out.line("}\n");
    }
  }
}

}  // namespace

std::string cpp_views(const Schema& schema) {
  const CppTypes types(schema);
  Writer out;
  out.line("// Generated by spotmesh-packetc from {}.fbs. Do not edit.", schema.stem);
  out.line("#pragma once\n");
  out.line("#include <spotmesh/packet_view.hpp>\n");
  out.line("#include \"{}.packets.hpp\"", schema.stem);
  for (const auto& include : schema.includes) out.line("#include \"{}.views.hpp\"", include);
  out.line();
  const auto is_packet = [&](const StructDef& table) {
    return std::ranges::any_of(schema.packets,
                               [&](const auto& packet) { return packet.table == &table; });
  };
  for (const auto* object : schema.objects) {
    if (object->fixed) continue;
    out.enter_namespace(cpp_namespace(*object->defined_namespace));
    out.line("class {}View;", object->name);
  }
  out.line();
  for (const auto* object : schema.objects) {
    if (!object->fixed) write_class(out, *object, types, is_packet(*object));
  }
  for (const auto* object : schema.objects) {
    if (!object->fixed) write_functions(out, *object, types, is_packet(*object));
  }
  out.enter_namespace("");
  return out.text();
}

}  // namespace spotmesh::packetc
