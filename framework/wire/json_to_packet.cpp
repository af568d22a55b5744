#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <spotmesh/limits.hpp>
#include <string>
#include <utility>
#include <vector>

#include "wire/base64.hpp"
#include "wire/json_by_schema.hpp"
#include "wire/json_values.hpp"
#include "wire/text.hpp"

namespace spotmesh::wire {
namespace {

using flatbuffers::uoffset_t;
using nlohmann::json;

// A value of the union being read: its number and what it holds.
struct Alternative {
  const EnumValueShape* type = nullptr;
  const json* value = nullptr;
};

// Goes through the JSON in the order of the schema and stops at the first fault. The bytes come out
// as codec::Encoder would write them.
class PacketBuilder {
 public:
  Result<Bytes> build(const ObjectShape& shape, const json& value) {
    const auto root = table(shape, value);
    if (!root) return fail(root.error());
    builder_.Finish(flatbuffers::Offset<void>(*root));
    const auto* first = reinterpret_cast<const std::byte*>(builder_.GetBufferPointer());
    return Bytes(first, first + builder_.GetSize());
  }

 private:
  // What one field of a table refers to; 0 for nothing.
  struct Child {
    uoffset_t offset = 0;
    uoffset_t types_offset = 0;   // a vector of unions: its types
    std::uint8_t union_type = 0;  // a single union
  };

  std::unexpected<Error> refuse(std::string_view what) const {
    return fail(Error::protocol_error(path_.text() + " " + std::string(what)));
  }
  std::unexpected<Error> refuse(const Error& what) const { return refuse(what.message()); }

  Result<void> check_object(const ObjectShape& shape, const json& value) {
    if (!value.is_object()) return refuse("must be an object");
    for (const auto& [name, member] : value.items()) {
      if (shape.find(name) != nullptr) continue;
      return refuse("has the unknown field " + in_quotes(name) + "; " + std::string(shape.name) +
                    " has no such field");
    }
    return {};
  }

  // The field's value; null when it is left out, which `null` says as well where the field may be
  // absent.
  static const json* member(const FieldShape& field, const json& object) {
    const auto found = object.find(field.name);
    if (found == object.end() || (found->is_null() && field.is_nullable())) return nullptr;
    return &*found;
  }

  // A few characters of JSON can stand for a large struct, and for a table that no packet may have.
  // Both are refused before they take memory.
  Result<void> check_room(std::size_t more) const {
    if (builder_.GetSize() + more <= limits::message_bytes) return {};
    return refuse("makes the packet larger than " + std::to_string(limits::message_bytes) +
                  " bytes");
  }
  Result<void> count_table() {
    if (++tables_ > limits::packet_tables) {
      return refuse("is one table more than the " + std::to_string(limits::packet_tables) +
                    " that a packet may have");
    }
    return check_room(0);
  }

  Result<uoffset_t> table(const ObjectShape& shape, const json& value) {
    if (auto counted = count_table(); !counted) return fail(counted.error());
    if (auto checked = check_object(shape, value); !checked) return fail(checked.error());
    std::vector<Child> children(shape.fields.size());
    for (std::size_t index = 0; index < children.size(); ++index) {
      const auto& field = shape.fields[index];
      const JsonPath::Step step(path_, field.name);
      const auto* given = member(field, value);
      if (given == nullptr && field.is_required) return refuse("is required and missing");
      if (given == nullptr) continue;
      const auto child = make_child(field, *given);
      if (!child) return fail(child.error());
      children[index] = *child;
    }
    const auto start = builder_.StartTable();
    for (const auto index : shape.fill_order) {
      const auto& field = shape.fields[index];
      const JsonPath::Step step(path_, field.name);
      if (auto done = fill(field, member(field, value), children[index]); !done) {
        return fail(done.error());
      }
    }
    for (const auto index : shape.fill_order) {
      if (const auto type = children[index].union_type; type != 0) {
        builder_.AddElement<std::uint8_t>(shape.fields[index].type_offset, type, 0);
      }
    }
    return builder_.EndTable(start);
  }

  Result<Child> make_child(const FieldShape& field, const json& value) {
    if (field.series == Series::vector) {
      if (field.value.kind == ValueKind::one_of) return union_vector(field, value);
      return as_child(field.is_bytes() ? bytes(field, value) : vector(field, value));
    }
    switch (field.value.kind) {
      case ValueKind::one_of:
        return union_value(field.value, value);
      case ValueKind::string:
      case ValueKind::table:
        return as_child(reference(field.value, value, field.is_required));
      default:
        return Child{};
    }
  }

  static Result<Child> as_child(const Result<uoffset_t>& offset) {
    if (!offset) return fail(offset.error());
    return Child{.offset = *offset};
  }

  // A string or table. An empty string that may be left out is left out, as in generated code.
  Result<uoffset_t> reference(const ValueShape& shape, const json& value, bool is_kept) {
    if (shape.kind == ValueKind::table) return table(*shape.object, value);
    if (!value.is_string()) return refuse("must be a string");
    const auto& text = value.get_ref<const std::string&>();
    if (text.empty() && !is_kept) return 0;
    return builder_.CreateString(text).o;
  }

  Result<uoffset_t> bytes(const FieldShape& field, const json& value) {
    const auto decoded = octets(value);
    if (!decoded) return fail(decoded.error());
    if (decoded->empty() && !field.is_required) return 0;
    return builder_
        .CreateVector(reinterpret_cast<const std::uint8_t*>(decoded->data()), decoded->size())
        .o;
  }

  Result<Bytes> octets(const json& value) {
    if (!value.is_string()) return refuse("must be a string of base64");
    auto decoded = decode_base64(value.get_ref<const std::string&>());
    if (!decoded) return refuse("must be base64 with padding and nothing else");
    return std::move(*decoded);
  }

  Result<uoffset_t> vector(const FieldShape& field, const json& value) {
    if (!value.is_array()) return refuse("must be an array");
    if (value.empty() && !field.is_required) return 0;
    const auto& shape = field.value;
    if (shape.is_scalar() || shape.kind == ValueKind::structure) return inline_vector(shape, value);
    std::vector<uoffset_t> offsets;
    offsets.reserve(value.size());
    for (std::size_t index = 0; index < value.size(); ++index) {
      const JsonPath::Step step(path_, index);
      const auto offset = reference(shape, value[index], true);
      if (!offset) return fail(offset.error());
      offsets.push_back(*offset);
    }
    return vector_of(offsets);
  }

  Result<uoffset_t> inline_vector(const ValueShape& shape, const json& value) {
    const auto width = shape.width();
    if (auto room = check_room(value.size() * width); !room) return fail(room.error());
    std::vector<std::uint8_t> elements(value.size() * width);
    for (std::size_t index = 0; index < value.size(); ++index) {
      const JsonPath::Step step(path_, index);
      auto stored = store(shape, value[index], elements.data() + index * width);
      if (!stored) return fail(stored.error());
    }
    const auto alignment = shape.kind == ValueKind::structure ? shape.object->alignment : width;
    builder_.StartVector(elements.size() / alignment, alignment);
    builder_.PushBytes(elements.data(), elements.size());
    return builder_.EndVector(value.size());
  }

  uoffset_t vector_of(const std::vector<uoffset_t>& offsets) {
    builder_.StartVector(offsets.size(), sizeof(uoffset_t));
    for (auto index = offsets.size(); index > 0; --index) {
      builder_.PushElement(flatbuffers::Offset<void>(offsets[index - 1]));
    }
    return builder_.EndVector(offsets.size());
  }

  Result<Child> union_vector(const FieldShape& field, const json& value) {
    if (!value.is_array()) return refuse("must be an array");
    if (value.empty() && !field.is_required) return Child{};
    std::vector<std::uint8_t> types;
    for (std::size_t index = 0; index < value.size(); ++index) {
      const JsonPath::Step step(path_, index);
      const auto read = alternative(field.value, value[index]);
      if (!read) return fail(read.error());
      types.push_back(static_cast<std::uint8_t>(read->type->value));
    }
    Child child;
    child.types_offset = builder_.CreateVector(types).o;
    std::vector<uoffset_t> offsets;
    for (std::size_t index = 0; index < value.size(); ++index) {
      const JsonPath::Step step(path_, index);
      const auto read = union_value(field.value, value[index]);
      if (!read) return fail(read.error());
      offsets.push_back(read->offset);
    }
    child.offset = vector_of(offsets);
    return child;
  }

  // {"type": …, "value": …}
  Result<Alternative> alternative(const ValueShape& shape, const json& value) {
    if (!value.is_object()) return refuse("must be an object with the fields type and value");
    const auto type = value.find("type");
    const auto held = value.find("value");
    if (type == value.end() || held == value.end() || value.size() != 2) {
      return refuse("must have the fields type and value and no other");
    }
    const JsonPath::Step step(path_, "type");
    const auto* found =
        type->is_string() ? shape.choices->find(type->get_ref<const std::string&>()) : nullptr;
    if (found == nullptr || found->value == 0) {
      return refuse("must name an alternative of " + std::string(shape.choices->name));
    }
    return Alternative{found, &*held};
  }

  Result<Child> union_value(const ValueShape& shape, const json& value) {
    const auto read = alternative(shape, value);
    if (!read) return fail(read.error());
    const JsonPath::Step step(path_, "value");
    const auto& held = read->type->alternative;
    const auto offset = held.kind == ValueKind::structure
                            ? separate_structure(*held.object, *read->value)
                            : reference(held, *read->value, true);
    if (!offset) return fail(offset.error());
    return Child{.offset = *offset, .union_type = static_cast<std::uint8_t>(read->type->value)};
  }

  Result<uoffset_t> separate_structure(const ObjectShape& shape, const json& value) {
    if (auto room = check_room(shape.size); !room) return fail(room.error());
    std::vector<std::uint8_t> laid_out(shape.size);
    auto stored = store_structure(shape, value, laid_out.data());
    if (!stored) return fail(stored.error());
    builder_.StartStruct(shape.alignment);
    builder_.PushBytes(laid_out.data(), laid_out.size());
    return builder_.EndStruct();
  }

  // A scalar or structure at `address`, where zeros are.
  Result<void> store(const ValueShape& shape, const json& value, std::uint8_t* address) {
    if (shape.kind == ValueKind::structure) return store_structure(*shape.object, value, address);
    const auto bits = scalar_from_json(shape, value);
    if (!bits) return refuse(bits.error());
    store_scalar(address, shape.scalar, *bits);
    return {};
  }

  Result<void> store_structure(const ObjectShape& shape, const json& value, std::uint8_t* address) {
    if (auto checked = check_object(shape, value); !checked) return checked;
    for (const auto& field : shape.fields) {
      const JsonPath::Step step(path_, field.name);
      const auto found = value.find(field.name);
      if (found == value.end()) continue;
      auto stored = field.series == Series::array
                        ? store_array(field, *found, address + field.offset)
                        : store(field.value, *found, address + field.offset);
      if (!stored) return stored;
    }
    return {};
  }

  Result<void> store_array(const FieldShape& field, const json& value, std::uint8_t* address) {
    const auto length = std::to_string(field.array_length);
    if (field.is_bytes()) {
      const auto decoded = octets(value);
      if (!decoded) return fail(decoded.error());
      if (decoded->size() != field.array_length) {
        return refuse("must be base64 of exactly " + length + " bytes");
      }
      const auto* first = reinterpret_cast<const std::uint8_t*>(decoded->data());
      std::copy_n(first, decoded->size(), address);
      return {};
    }
    if (!value.is_array() || value.size() != field.array_length) {
      return refuse("must be an array of exactly " + length + " elements");
    }
    for (std::size_t index = 0; index < value.size(); ++index) {
      const JsonPath::Step step(path_, index);
      auto stored = store(field.value, value[index], address + index * field.value.width());
      if (!stored) return stored;
    }
    return {};
  }

  Result<void> fill(const FieldShape& field, const json* value, const Child& child) {
    if (field.series == Series::single && value != nullptr) {
      if (field.value.is_scalar()) return fill_scalar(field, *value);
      if (field.value.kind == ValueKind::structure) return fill_structure(field, *value);
    }
    if (value == nullptr && has_nan_for_default(field)) return fill_nan(field);
    // FlatBuffers leaves out an offset of 0.
    builder_.AddOffset(field.type_offset, flatbuffers::Offset<void>(child.types_offset));
    builder_.AddOffset(field.offset, flatbuffers::Offset<void>(child.offset));
    return {};
  }

  // No number equals such a default, not even itself, so generated code never leaves it out.
  static bool has_nan_for_default(const FieldShape& field) {
    return field.series == Series::single && field.value.kind == ValueKind::real &&
           !field.is_optional_scalar && std::isnan(field.default_real);
  }

  Result<void> fill_nan(const FieldShape& field) {
    if (field.value.scalar == reflection::Float) {
      builder_.AddElement<float>(field.offset, std::numeric_limits<float>::quiet_NaN());
    } else {
      builder_.AddElement<double>(field.offset, std::numeric_limits<double>::quiet_NaN());
    }
    return {};
  }

  Result<void> fill_scalar(const FieldShape& field, const json& value) {
    const auto bits = scalar_from_json(field.value, value);
    if (!bits) return refuse(bits.error());
    std::array<std::uint8_t, sizeof(std::uint64_t)> given{};
    std::array<std::uint8_t, sizeof(std::uint64_t)> assumed{};
    store_scalar(given.data(), field.value.scalar, *bits);
    store_scalar(assumed.data(), field.value.scalar, default_bits(field));
    switch (field.value.width()) {
      case 1:
        add<std::uint8_t>(field, given.data(), assumed.data());
        break;
      case 2:
        add<std::uint16_t>(field, given.data(), assumed.data());
        break;
      case 4:
        field.value.scalar == reflection::Float
            ? add<float>(field, given.data(), assumed.data())
            : add<std::uint32_t>(field, given.data(), assumed.data());
        break;
      default:
        field.value.scalar == reflection::Double
            ? add<double>(field, given.data(), assumed.data())
            : add<std::uint64_t>(field, given.data(), assumed.data());
    }
    return {};
  }

  template <typename T>
  void add(const FieldShape& field, const std::uint8_t* given, const std::uint8_t* assumed) {
    const auto value = flatbuffers::ReadScalar<T>(given);
    if (field.is_optional_scalar) {
      builder_.AddElement<T>(field.offset, value);
    } else {
      builder_.AddElement<T>(field.offset, value, flatbuffers::ReadScalar<T>(assumed));
    }
  }

  Result<void> fill_structure(const FieldShape& field, const json& value) {
    const auto& shape = *field.value.object;
    std::vector<std::uint8_t> laid_out(shape.size);
    auto stored = store_structure(shape, value, laid_out.data());
    if (!stored) return stored;
    builder_.Align(shape.alignment);
    builder_.PushBytes(laid_out.data(), laid_out.size());
    builder_.AddStructOffset(field.offset, builder_.GetSize());
    return {};
  }

  flatbuffers::FlatBufferBuilder builder_{256};
  std::uint32_t tables_ = 0;
  JsonPath path_;
};

}  // namespace

Result<Bytes> json_to_packet(const CatalogPacket& packet, const json& payload) {
  auto bytes = PacketBuilder().build(*packet.shape, payload);
  if (bytes && !packet.descriptor->verify(*bytes)) {
    return fail(Error::protocol_error("payload is larger or has more tables than a " +
                                      std::string(packet.descriptor->name) + " packet may have"));
  }
  return bytes;
}

Result<Bytes> json_text_to_packet(const CatalogPacket& packet, std::string_view text,
                                  const JsonLimits& limits) {
  const auto payload = parse_json(text, limits);
  if (!payload) return fail(payload.error());
  return json_to_packet(packet, *payload);
}

}  // namespace spotmesh::wire
