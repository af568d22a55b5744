// What conversion between packets and JSON needs to know of a schema, taken once from its binary
// form.
#pragma once

#include <flatbuffers/reflection.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <spotmesh/bytes.hpp>

#include "wire/delivery.hpp"

namespace spotmesh::wire {

struct ObjectShape;
struct EnumShape;

enum class ValueKind : std::uint8_t {
  boolean,
  integer,
  real,
  choice,  // an enum's value
  string,
  structure,
  table,
  one_of,  // a union
};

enum class Series : std::uint8_t {
  single,
  vector,
  array  // of a length that the schema fixes
};

// The type of one value, or of each element of a series.
struct ValueShape {
  ValueKind kind = ValueKind::boolean;
  reflection::BaseType scalar = reflection::None;  // for boolean … choice
  const EnumShape* choices = nullptr;              // for choice and one_of
  const ObjectShape* object = nullptr;             // for structure and table

  bool is_octet() const { return kind == ValueKind::integer && scalar == reflection::UByte; }
  bool is_scalar() const { return kind <= ValueKind::choice; }
  // Bytes of one value where it lies: 4 for what is reached by an offset.
  std::size_t width() const;
};

struct FieldShape {
  std::string_view name;
  ValueShape value;
  Series series = Series::single;
  std::uint16_t array_length = 0;
  std::uint16_t offset = 0;       // in the vtable; within a structure, in its bytes
  std::uint16_t type_offset = 0;  // one_of: of the field that holds the type
  bool is_required = false;
  bool is_optional_scalar = false;
  std::int64_t default_integer = 0;
  double default_real = 0;

  // A sequence of octets, which JSON shows as base64.
  bool is_bytes() const { return series != Series::single && value.is_octet(); }
  // Whether it may be absent, and JSON shows that as null.
  bool is_nullable() const;
};

struct ObjectShape {
  std::string_view name;
  Delivery delivery;
  bool is_structure = false;
  std::size_t size = 0;            // of a structure
  std::size_t alignment = 1;       // of a structure
  std::vector<FieldShape> fields;  // in the order of the schema, without deprecated ones
  // Indices of `fields` from the widest to the narrowest: the order in which a table is filled, the
  // same as in generated code.
  std::vector<std::size_t> fill_order;

  // Null for an unknown name.
  const FieldShape* find(std::string_view field) const;
};

struct EnumValueShape {
  std::string_view name;
  std::int64_t value = 0;
  ValueShape alternative;  // of a union
};

struct EnumShape {
  std::string_view name;
  bool is_flags = false;
  bool is_union = false;
  reflection::BaseType underlying = reflection::None;
  std::vector<EnumValueShape> values;  // by value

  const EnumValueShape* find(std::string_view value_name) const;
  const EnumValueShape* find(std::int64_t value) const;
};

// All objects and enums of one binary schema. Names point into the schema, which lives as long as
// the program.
class SchemaShapes {
 public:
  // Throws ConfigurationError when `binary` is no sound binary schema.
  explicit SchemaShapes(ByteView binary);

  // Null for an unknown name.
  const ObjectShape* find_object(std::string_view name) const;

 private:
  void fill_enum(const reflection::Enum& source, EnumShape& shape) const;
  void fill_object(const reflection::Object& source, ObjectShape& shape) const;
  ValueShape value_shape(reflection::BaseType type, int index) const;
  FieldShape field_shape(const reflection::Field& field) const;

  // Never resized once filled: shapes point at each other.
  std::vector<ObjectShape> objects_;
  std::vector<EnumShape> enums_;
};

}  // namespace spotmesh::wire
