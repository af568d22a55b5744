#include "packetc/cpp_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "packetc/cpp_names.hpp"

namespace spotmesh::packetc {
namespace {

using flatbuffers::FieldDef;
using flatbuffers::StructDef;
using flatbuffers::Type;

FieldKind vector_kind(const Type& element) {
  if (element.base_type == flatbuffers::BASE_TYPE_STRING) return FieldKind::strings;
  if (element.base_type == flatbuffers::BASE_TYPE_UNION) return FieldKind::union_values;
  if (element.base_type == flatbuffers::BASE_TYPE_STRUCT) {
    return element.struct_def->fixed ? FieldKind::structures : FieldKind::tables;
  }
  return is_octet(element) ? FieldKind::bytes : FieldKind::scalars;
}

FieldKind kind_of(const FieldDef& field) {
  const auto& type = field.value.type;
  switch (type.base_type) {
    case flatbuffers::BASE_TYPE_STRING:
      return FieldKind::string;
    case flatbuffers::BASE_TYPE_VECTOR:
      return vector_kind(type.VectorType());
    case flatbuffers::BASE_TYPE_STRUCT:
      return type.struct_def->fixed ? FieldKind::structure : FieldKind::table;
    case flatbuffers::BASE_TYPE_UNION:
      return FieldKind::union_value;
    default:
      return field.IsScalarOptional() ? FieldKind::optional_scalar : FieldKind::scalar;
  }
}

bool is_union_type_field(const FieldDef& field) {
  const auto& type = field.value.type;
  return type.base_type == flatbuffers::BASE_TYPE_UTYPE ||
         (type.base_type == flatbuffers::BASE_TYPE_VECTOR &&
          type.element == flatbuffers::BASE_TYPE_UTYPE);
}

std::string real_literal(std::string_view type, bool is_float, double value) {
  if (std::isnan(value)) return fmt::format("std::numeric_limits<{}>::quiet_NaN()", type);
  if (std::isinf(value)) {
    return fmt::format("{}std::numeric_limits<{}>::infinity()", value < 0 ? "-" : "", type);
  }
  auto text = is_float ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return is_float ? text + "F" : text;
}

std::string enum_literal(const Type& type, const std::string& constant) {
  const auto& definition = *type.enum_def;
  for (const auto* value : definition.Vals()) {
    if (definition.ToString(*value) != constant) continue;
    return cpp_qualified(definition) + "::" + cpp_identifier(value->name);
  }
  const auto number = scalar_literal(Type(type.base_type), constant);
  return fmt::format("static_cast<{}>({})", cpp_qualified(definition), number);
}

}  // namespace

bool is_octet(const Type& element) {
  return element.base_type == flatbuffers::BASE_TYPE_UCHAR && element.enum_def == nullptr;
}

std::string_view scalar_type(flatbuffers::BaseType type) {
  switch (type) {
    case flatbuffers::BASE_TYPE_BOOL:
      return "bool";
    case flatbuffers::BASE_TYPE_CHAR:
      return "std::int8_t";
    case flatbuffers::BASE_TYPE_SHORT:
      return "std::int16_t";
    case flatbuffers::BASE_TYPE_USHORT:
      return "std::uint16_t";
    case flatbuffers::BASE_TYPE_INT:
      return "std::int32_t";
    case flatbuffers::BASE_TYPE_UINT:
      return "std::uint32_t";
    case flatbuffers::BASE_TYPE_LONG:
      return "std::int64_t";
    case flatbuffers::BASE_TYPE_ULONG:
      return "std::uint64_t";
    case flatbuffers::BASE_TYPE_FLOAT:
      return "float";
    case flatbuffers::BASE_TYPE_DOUBLE:
      return "double";
    default:
      return "std::uint8_t";
  }
}

std::string plain_type(const Type& type) {
  if (type.base_type == flatbuffers::BASE_TYPE_STRING) return "std::string";
  if (type.struct_def != nullptr) return cpp_qualified(*type.struct_def);
  if (type.enum_def != nullptr) return cpp_qualified(*type.enum_def);
  return std::string(scalar_type(type.base_type));
}

std::string scalar_literal(const Type& type, const std::string& constant) {
  if (type.enum_def != nullptr) return enum_literal(type, constant);
  switch (type.base_type) {
    case flatbuffers::BASE_TYPE_BOOL:
      return constant == "0" || constant == "false" ? "false" : "true";
    case flatbuffers::BASE_TYPE_FLOAT:
      return real_literal("float", true, std::strtod(constant.c_str(), nullptr));
    case flatbuffers::BASE_TYPE_DOUBLE:
      return real_literal("double", false, std::strtod(constant.c_str(), nullptr));
    case flatbuffers::BASE_TYPE_LONG:
      // C++ has no literal for the smallest number, only for its negation, which does not fit.
      if (constant == "-9223372036854775808") return "std::numeric_limits<std::int64_t>::min()";
      return constant;
    case flatbuffers::BASE_TYPE_UINT:
    case flatbuffers::BASE_TYPE_ULONG:
      return constant + "U";
    default:
      return constant;
  }
}

std::vector<CppField> CppTypes::fields(const StructDef& table) const {
  std::vector<CppField> fields;
  for (const auto* definition : table.fields.vec) {
    if (definition->deprecated || is_union_type_field(*definition)) continue;
    CppField field;
    field.definition = definition;
    field.kind = kind_of(*definition);
    field.name = cpp_identifier(definition->name);
    const auto& type = definition->value.type;
    const auto element = type.base_type == flatbuffers::BASE_TYPE_VECTOR ? type.VectorType() : type;
    field.element = plain_type(element);
    field.is_required = definition->IsRequired();
    field.is_boxed = field.kind == FieldKind::table && !field.is_required &&
                     order_.is_boxed(table, *type.struct_def);
    field.offset = definition->value.offset;
    if (field.kind == FieldKind::union_value || field.kind == FieldKind::union_values) {
      field.type_offset = static_cast<std::uint16_t>(field.offset - 2);
    }
    field.inline_size = flatbuffers::InlineSize(type);
    fields.push_back(field);
  }
  std::ranges::sort(fields, {}, &CppField::offset);
  return fields;
}

std::vector<CppField> CppTypes::fields_by_width(const StructDef& table) const {
  auto sorted = fields(table);
  std::ranges::sort(sorted, [](const CppField& left, const CppField& right) {
    if (left.inline_size != right.inline_size) return left.inline_size > right.inline_size;
    return left.offset < right.offset;
  });
  return sorted;
}

std::string CppTypes::member_type(const CppField& field, const StructDef& table) const {
  auto element = field.element;
  const auto home = "::" + cpp_namespace(*table.defined_namespace) + "::";
  if (home != "::::" && element.starts_with(home)) {
    const auto short_name = element.substr(home.size());
    const bool is_shadowed = short_name.find("::") != std::string::npos ||
                             std::ranges::any_of(table.fields.vec, [&](const auto* other) {
                               return cpp_identifier(other->name) == short_name;
                             });
    if (!is_shadowed) element = short_name;
  }
  switch (field.kind) {
    case FieldKind::bytes:
      return "::spotmesh::Bytes";
    case FieldKind::scalars:
    case FieldKind::strings:
    case FieldKind::structures:
    case FieldKind::tables:
    case FieldKind::union_values:
      return fmt::format("std::vector<{}>", element);
    case FieldKind::optional_scalar:
      return fmt::format("std::optional<{}>", element);
    case FieldKind::structure:
    case FieldKind::table:
      if (field.is_required) return element;
      return fmt::format("{}<{}>", field.is_boxed ? "::spotmesh::Boxed" : "std::optional", element);
    default:
      return element;
  }
}

std::string CppTypes::member_default(const CppField& field) const {
  if (field.kind != FieldKind::scalar) return "";
  const auto& value = field.definition->value;
  return " = " + scalar_literal(value.type, value.constant);
}

std::string CppTypes::struct_member_type(const Type& type) const {
  if (type.base_type != flatbuffers::BASE_TYPE_ARRAY) return plain_type(type);
  const auto element = type.VectorType();
  return fmt::format("std::array<{}, {}>", is_octet(element) ? "std::byte" : plain_type(element),
                     type.fixed_length);
}

std::string CppTypes::alternative_type(const flatbuffers::EnumDef& definition,
                                       const flatbuffers::EnumVal& value) const {
  const auto& type = value.union_type;
  if (type.base_type == flatbuffers::BASE_TYPE_NONE) return "std::monostate";
  const auto plain = plain_type(type);
  if (type.struct_def == nullptr || !order_.is_boxed(definition, *type.struct_def)) return plain;
  return fmt::format("::spotmesh::Boxed<{}>", plain);
}

}  // namespace spotmesh::packetc
