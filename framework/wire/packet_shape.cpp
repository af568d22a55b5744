#include "wire/packet_shape.hpp"

#include <algorithm>
#include <charconv>
#include <spotmesh/error.hpp>

namespace spotmesh::wire {
namespace {

std::string_view text_of(const flatbuffers::String* string) {
  return {string->c_str(), string->size()};
}

// spotmesh-packetc has checked the values.
Delivery delivery_of(const reflection::Object& source) {
  Delivery delivery;
  if (source.attributes() == nullptr) return delivery;
  if (const auto* found = source.attributes()->LookupByKey("delivery")) {
    delivery.only_latest = found->value() != nullptr && text_of(found->value()) == "latest";
  }
  if (const auto* found = source.attributes()->LookupByKey("drop_after_ms")) {
    const auto text = found->value() != nullptr ? text_of(found->value()) : std::string_view();
    std::from_chars(text.data(), text.data() + text.size(), delivery.drop_after_ms);
  }
  return delivery;
}

bool has_attribute(const reflection::Enum& source, const char* name) {
  return source.attributes() != nullptr && source.attributes()->LookupByKey(name) != nullptr;
}

bool is_type_of_union(const reflection::Type& type) {
  return type.base_type() == reflection::UType || type.element() == reflection::UType;
}

}  // namespace

std::size_t ValueShape::width() const {
  if (is_scalar()) return flatbuffers::GetTypeSize(scalar);
  return kind == ValueKind::structure ? object->size : sizeof(flatbuffers::uoffset_t);
}

bool FieldShape::is_nullable() const {
  if (series != Series::single || is_required) return false;
  return is_optional_scalar || value.kind == ValueKind::structure ||
         value.kind == ValueKind::table || value.kind == ValueKind::one_of;
}

const FieldShape* ObjectShape::find(std::string_view field) const {
  const auto found = std::ranges::find(fields, field, &FieldShape::name);
  return found == fields.end() ? nullptr : &*found;
}

const EnumValueShape* EnumShape::find(std::string_view value_name) const {
  const auto found = std::ranges::find(values, value_name, &EnumValueShape::name);
  return found == values.end() ? nullptr : &*found;
}

const EnumValueShape* EnumShape::find(std::int64_t value) const {
  const auto found = std::ranges::find(values, value, &EnumValueShape::value);
  return found == values.end() ? nullptr : &*found;
}

SchemaShapes::SchemaShapes(ByteView binary) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(binary.data());
  flatbuffers::Verifier verifier(bytes, binary.size());
  if (!reflection::VerifySchemaBuffer(verifier)) {
    throw ConfigurationError(
        "a packet's binary schema is damaged; compile its .fbs with spotmesh-packetc again");
  }
  const auto& schema = *reflection::GetSchema(bytes);
  objects_.resize(schema.objects()->size());
  enums_.resize(schema.enums()->size());
  // What others ask of an object comes before anybody asks.
  for (std::uint32_t index = 0; index < schema.objects()->size(); ++index) {
    const auto& source = *schema.objects()->Get(index);
    auto& shape = objects_[index];
    shape.name = text_of(source.name());
    shape.is_structure = source.is_struct();
    shape.size = static_cast<std::size_t>(source.bytesize());
    shape.alignment = static_cast<std::size_t>(source.minalign());
  }
  for (std::uint32_t index = 0; index < schema.objects()->size(); ++index) {
    fill_object(*schema.objects()->Get(index), objects_[index]);
  }
  for (std::uint32_t index = 0; index < schema.enums()->size(); ++index) {
    fill_enum(*schema.enums()->Get(index), enums_[index]);
  }
}

const ObjectShape* SchemaShapes::find_object(std::string_view name) const {
  const auto found = std::ranges::find(objects_, name, &ObjectShape::name);
  return found == objects_.end() ? nullptr : &*found;
}

void SchemaShapes::fill_enum(const reflection::Enum& source, EnumShape& shape) const {
  shape.name = text_of(source.name());
  shape.is_flags = has_attribute(source, "bit_flags");
  shape.is_union = source.is_union();
  shape.underlying = source.underlying_type()->base_type();
  for (const auto* value : *source.values()) {
    EnumValueShape entry;
    entry.name = text_of(value->name());
    entry.value = value->value();
    if (source.is_union() && value->union_type() != nullptr &&
        value->union_type()->base_type() != reflection::None) {
      entry.alternative =
          value_shape(value->union_type()->base_type(), value->union_type()->index());
    }
    shape.values.push_back(entry);
  }
}

void SchemaShapes::fill_object(const reflection::Object& source, ObjectShape& shape) const {
  shape.delivery = delivery_of(source);
  for (const auto* field : *source.fields()) {
    if (field->deprecated() || is_type_of_union(*field->type())) continue;
    shape.fields.push_back(field_shape(*field));
  }
  std::ranges::sort(shape.fields, {}, &FieldShape::offset);
  for (std::size_t index = 0; index < shape.fields.size(); ++index) {
    shape.fill_order.push_back(index);
  }
  const auto width = [&](std::size_t index) {
    const auto& field = shape.fields[index];
    return field.series == Series::single ? field.value.width() : sizeof(flatbuffers::uoffset_t);
  };
  std::ranges::sort(shape.fill_order, [&](std::size_t left, std::size_t right) {
    return width(left) != width(right) ? width(left) > width(right) : left < right;
  });
}

ValueShape SchemaShapes::value_shape(reflection::BaseType type, int index) const {
  ValueShape shape;
  switch (type) {
    case reflection::String:
      shape.kind = ValueKind::string;
      return shape;
    case reflection::Obj:
      shape.object = &objects_[static_cast<std::size_t>(index)];
      shape.kind = shape.object->is_structure ? ValueKind::structure : ValueKind::table;
      return shape;
    case reflection::Union:
      shape.choices = &enums_[static_cast<std::size_t>(index)];
      shape.kind = ValueKind::one_of;
      return shape;
    default:
      break;
  }
  shape.scalar = type;
  if (index >= 0) {
    shape.choices = &enums_[static_cast<std::size_t>(index)];
    shape.kind = ValueKind::choice;
  } else if (type == reflection::Bool) {
    shape.kind = ValueKind::boolean;
  } else {
    shape.kind = flatbuffers::IsFloat(type) ? ValueKind::real : ValueKind::integer;
  }
  return shape;
}

FieldShape SchemaShapes::field_shape(const reflection::Field& field) const {
  const auto& type = *field.type();
  FieldShape shape;
  shape.name = text_of(field.name());
  if (type.base_type() == reflection::Vector || type.base_type() == reflection::Array) {
    shape.series = type.base_type() == reflection::Vector ? Series::vector : Series::array;
    shape.value = value_shape(type.element(), type.index());
    shape.array_length = type.fixed_length();
  } else {
    shape.value = value_shape(type.base_type(), type.index());
  }
  shape.offset = field.offset();
  if (shape.value.kind == ValueKind::one_of) {
    shape.type_offset = static_cast<std::uint16_t>(field.offset() - sizeof(flatbuffers::voffset_t));
  }
  shape.is_required = field.required();
  shape.is_optional_scalar = field.optional() && shape.value.is_scalar();
  shape.default_integer = field.default_integer();
  shape.default_real = field.default_real();
  return shape;
}

}  // namespace spotmesh::wire
