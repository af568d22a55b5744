// How fields and types of a schema look in C++.
#pragma once

#include <flatbuffers/idl.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "packetc/cpp_order.hpp"
#include "packetc/schema.hpp"

namespace spotmesh::packetc {

enum class FieldKind : std::uint8_t {
  scalar,           // bool, numbers, enums
  optional_scalar,  // … with the default null
  string,
  bytes,    // [ubyte]
  scalars,  // vectors of …
  strings,
  structure,
  structures,
  table,
  tables,
  union_value,
  union_values,
};

// A field that generated code has: deprecated ones and the hidden type fields of unions are left
// out.
struct CppField {
  const flatbuffers::FieldDef* definition = nullptr;
  FieldKind kind = FieldKind::scalar;
  std::string name;     // the member's
  std::string element;  // its type without optional and vector around it, fully qualified
  bool is_required = false;
  bool is_boxed = false;
  std::uint16_t offset = 0;
  std::uint16_t type_offset = 0;  // unions: of the field that holds the type
  std::size_t inline_size = 0;    // within the table

  std::string_view presence() const {
    return is_required ? "Presence::required" : "Presence::optional";
  }
};

class CppTypes {
 public:
  explicit CppTypes(const Schema& schema) : order_(schema) {}

  const CppOrder& order() const { return order_; }

  // Fields of a table in the order of the schema.
  std::vector<CppField> fields(const flatbuffers::StructDef& table) const;
  // The same from the widest to the narrowest, the order in which a table is filled.
  std::vector<CppField> fields_by_width(const flatbuffers::StructDef& table) const;

  // The member's declared type; short names where `table` cannot mean something else by them.
  std::string member_type(const CppField& field, const flatbuffers::StructDef& table) const;
  // " = 7", or nothing for a type that has its own.
  std::string member_default(const CppField& field) const;

  // Members of structs.
  std::string struct_member_type(const flatbuffers::Type& type) const;

  // Alternatives of a union, boxed where needed, fully qualified; "std::monostate" for NONE.
  std::string alternative_type(const flatbuffers::EnumDef& definition,
                               const flatbuffers::EnumVal& value) const;

 private:
  CppOrder order_;
};

// "std::int32_t", "bool", "::tictactoe::Mark": scalars, enums, strings, structs and tables.
std::string plain_type(const flatbuffers::Type& type);

// The scalar as it lies under an enum.
std::string_view scalar_type(flatbuffers::BaseType type);

// A literal of a scalar type for FlatBuffers' text of a constant.
std::string scalar_literal(const flatbuffers::Type& type, const std::string& constant);

bool is_octet(const flatbuffers::Type& element);

}  // namespace spotmesh::packetc
