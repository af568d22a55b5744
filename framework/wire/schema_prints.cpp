#include "wire/schema_prints.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "wire/packet_shape.hpp"

namespace spotmesh::wire {
namespace {

// Values of enums from 0 up to here have lines; others are not compared.
constexpr std::int64_t most_values = 255;

std::string_view name_of(reflection::BaseType scalar) {
  switch (scalar) {
    case reflection::Bool:
      return "bool";
    case reflection::Byte:
      return "byte";
    case reflection::UByte:
      return "ubyte";
    case reflection::Short:
      return "short";
    case reflection::UShort:
      return "ushort";
    case reflection::Int:
      return "int";
    case reflection::UInt:
      return "uint";
    case reflection::Long:
      return "long";
    case reflection::ULong:
      return "ulong";
    case reflection::Float:
      return "float";
    case reflection::Double:
      return "double";
    default:
      return "none";
  }
}

std::string_view name_of(const ValueShape& value) {
  switch (value.kind) {
    case ValueKind::boolean:
    case ValueKind::integer:
    case ValueKind::real:
      return name_of(value.scalar);
    case ValueKind::string:
      return "string";
    case ValueKind::choice:
    case ValueKind::one_of:
      return value.choices->name;
    case ValueKind::structure:
    case ValueKind::table:
      return value.object->name;
  }
  return "none";
}

std::string type_of(const FieldShape& field) {
  switch (field.series) {
    case Series::single:
      break;
    case Series::vector:
      return fmt::format("[{}]", name_of(field.value));
    case Series::array:
      return fmt::format("[{}:{}]", name_of(field.value), field.array_length);
  }
  return std::string(name_of(field.value));
}

// Of a scalar in a table: its default. A real's is its bits, which every language writes alike.
std::string default_of(const FieldShape& field) {
  if (field.series != Series::single || !field.value.is_scalar()) return {};
  if (field.is_optional_scalar) return "=null";
  if (field.value.kind == ValueKind::real) {
    return fmt::format("={:016x}", std::bit_cast<std::uint64_t>(field.default_real));
  }
  if (field.value.scalar == reflection::ULong) {
    return fmt::format("={}", static_cast<std::uint64_t>(field.default_integer));
  }
  return fmt::format("={}", field.default_integer);
}

std::string line_of(const FieldShape& field, bool is_in_structure) {
  std::string line = fmt::format("{}:{}", field.name, type_of(field));
  if (is_in_structure) return line;
  line += default_of(field);
  if (field.is_required) line += " required";
  return line;
}

void put_line(std::vector<std::string>& lines, std::size_t index, std::string line) {
  if (lines.size() <= index) lines.resize(index + 1);
  lines[index] = std::move(line);
}

std::vector<std::string> lines_of_object(const ObjectShape& object) {
  std::vector<std::string> lines;
  lines.push_back(object.is_structure ? fmt::format("struct {}", object.fields.size()) : "table");
  for (std::size_t i = 0; i < object.fields.size(); ++i) {
    const FieldShape& field = object.fields[i];
    // The first two entries of a table's vtable are sizes, each entry has two bytes.
    const std::size_t slot = object.is_structure ? i : (field.offset - std::size_t{4}) / 2;
    put_line(lines, 1 + slot, line_of(field, object.is_structure));
  }
  return lines;
}

// 0 … 254, or nothing for what has no line.
std::int64_t slot_of(const EnumShape& choices, const EnumValueShape& value) {
  if (!choices.is_flags) return value.value;
  const auto bits = static_cast<std::uint64_t>(value.value);
  return std::has_single_bit(bits) ? std::countr_zero(bits) : -1;
}

std::vector<std::string> lines_of_enum(const EnumShape& choices) {
  std::vector<std::string> lines;
  if (choices.is_union) {
    lines.emplace_back("union");
  } else {
    lines.push_back(
        fmt::format("{} {}", choices.is_flags ? "flags" : "enum", name_of(choices.underlying)));
  }
  for (const EnumValueShape& value : choices.values) {
    const std::int64_t slot = slot_of(choices, value);
    if (slot < 0 || slot >= most_values) continue;
    if (choices.is_union && slot == 0) continue;  // NONE
    put_line(lines, 1 + static_cast<std::size_t>(slot),
             choices.is_union ? fmt::format("{}:{}", value.name, name_of(value.alternative))
                              : std::string(value.name));
  }
  return lines;
}

}  // namespace

std::uint32_t line_hash(std::string_view line) {
  std::uint32_t hash = 2166136261U;
  for (const char byte : line) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 16777619U;
  }
  return hash == 0 ? 1 : hash;
}

void SchemaPrints::add(const ObjectShape& object) {
  const auto [place, is_new] = types_.try_emplace(std::string(object.name));
  if (!is_new) return;
  place->second.lines = lines_of_object(object);
  for (const std::string& line : place->second.lines) {
    place->second.hashes.push_back(line.empty() ? 0 : line_hash(line));
  }
  for (const FieldShape& field : object.fields) add_types_of(field);
}

void SchemaPrints::add_types_of(const FieldShape& field) {
  if (field.value.object != nullptr) add(*field.value.object);
  if (field.value.choices != nullptr) add(*field.value.choices);
}

void SchemaPrints::add(const EnumShape& choices) {
  const auto [place, is_new] = types_.try_emplace(std::string(choices.name));
  if (!is_new) return;
  place->second.lines = lines_of_enum(choices);
  for (const std::string& line : place->second.lines) {
    place->second.hashes.push_back(line.empty() ? 0 : line_hash(line));
  }
  for (const EnumValueShape& value : choices.values) {
    if (value.alternative.object != nullptr) add(*value.alternative.object);
  }
}

std::span<const std::string> SchemaPrints::lines_of(std::string_view type) const {
  const auto found = types_.find(type);
  if (found == types_.end()) return {};
  return found->second.lines;
}

std::vector<TypePrint> SchemaPrints::prints() const {
  std::vector<TypePrint> all;
  all.reserve(types_.size());
  for (const auto& [name, type] : types_) all.push_back({name, type.hashes});
  return all;
}

Result<void> SchemaPrints::check(const std::vector<TypePrint>& others) const {
  for (const TypePrint& other : others) {
    if (auto fits = check_type(other); !fits) return fits;
  }
  return {};
}

Result<void> SchemaPrints::check_type(const TypePrint& other) const {
  const auto found = types_.find(other.name);
  if (found == types_.end()) return {};
  const Type& mine = found->second;
  const std::size_t common = std::min(mine.hashes.size(), other.lines.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (mine.hashes[i] == 0 || other.lines[i] == 0 || mine.hashes[i] == other.lines[i]) continue;
    return fail(Error::protocol_error(
        fmt::format("{} does not fit: line {} is '{}' here", other.name, i, mine.lines[i])));
  }
  return {};
}

}  // namespace spotmesh::wire
