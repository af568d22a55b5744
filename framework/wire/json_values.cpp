#include "wire/json_values.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "wire/text.hpp"

namespace spotmesh::wire {
namespace {

using nlohmann::json;

std::unexpected<Error> refuse(std::string message) {
  return fail(Error::protocol_error(std::move(message)));
}

// What a value is, for "…, not X".
std::string shown(const json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return value.dump();
}

template <typename T>
std::string range_of() {
  return std::to_string(std::numeric_limits<T>::min()) + " to " +
         std::to_string(std::numeric_limits<T>::max());
}

template <typename T>
Result<ScalarBits> small_integer(const json& value) {
  if (value.is_number_unsigned()) {
    if (const auto number = value.get<std::uint64_t>(); std::in_range<T>(number)) {
      return ScalarBits{number};
    }
  } else if (value.is_number_integer()) {
    if (const auto number = value.get<std::int64_t>(); std::in_range<T>(number)) {
      return ScalarBits{static_cast<std::uint64_t>(number)};
    }
  }
  return refuse("must be a whole number from " + range_of<T>() + ", not " + shown(value));
}

// The one way to write each number: no sign but '-', no zeros in front.
template <typename T>
bool parse_decimal(std::string_view text, T& number) {
  const auto digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0') || text == "-0") return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

template <typename T>
Result<ScalarBits> large_integer(const json& value) {
  T number = 0;
  if (value.is_string() && parse_decimal(value.get_ref<const std::string&>(), number)) {
    return ScalarBits{static_cast<std::uint64_t>(number)};
  }
  return refuse("must be a string of decimal digits from " + range_of<T>() + ", not " +
                shown(value));
}

Result<ScalarBits> real(reflection::BaseType type, const json& value) {
  if (!value.is_number()) return refuse("must be a number, not " + shown(value));
  const auto number = value.get<double>();
  if (type == reflection::Float && !std::isfinite(static_cast<float>(number))) {
    return refuse("must be a number that fits 32-bit floating point, not " + shown(value));
  }
  return ScalarBits{std::bit_cast<std::uint64_t>(number)};
}

Result<ScalarBits> integer(reflection::BaseType type, const json& value) {
  switch (type) {
    case reflection::Byte:
      return small_integer<std::int8_t>(value);
    case reflection::UByte:
      return small_integer<std::uint8_t>(value);
    case reflection::Short:
      return small_integer<std::int16_t>(value);
    case reflection::UShort:
      return small_integer<std::uint16_t>(value);
    case reflection::Int:
      return small_integer<std::int32_t>(value);
    case reflection::UInt:
      return small_integer<std::uint32_t>(value);
    case reflection::Long:
      return large_integer<std::int64_t>(value);
    default:
      return large_integer<std::uint64_t>(value);
  }
}

Result<ScalarBits> flags(const EnumShape& choices, const json& value) {
  if (!value.is_string()) {
    return refuse("must be a string of names of " + std::string(choices.name) +
                  " with a space between, not " + shown(value));
  }
  std::string_view text = value.get_ref<const std::string&>();
  std::uint64_t bits = 0;
  for (bool is_last = text.empty(); !is_last;) {
    const auto word = text.substr(0, text.find(' '));
    const auto* flag = choices.find(word);
    if (flag == nullptr) {
      return refuse("has " + in_quotes(word) + ", which is no name of " +
                    std::string(choices.name));
    }
    bits |= static_cast<std::uint64_t>(flag->value);
    is_last = word.size() == text.size();
    if (!is_last) text.remove_prefix(word.size() + 1);
  }
  return ScalarBits{bits};
}

Result<ScalarBits> choice(const EnumShape& choices, const json& value) {
  if (choices.is_flags) return flags(choices, value);
  if (value.is_string()) {
    if (const auto* found = choices.find(value.get_ref<const std::string&>())) {
      return ScalarBits{static_cast<std::uint64_t>(found->value)};
    }
  }
  return refuse("must be a name of " + std::string(choices.name) + ", not " + shown(value));
}

template <typename T>
void append_number(std::string& out, T number) {
  char text[64];
  const auto [end, error] = std::to_chars(std::begin(text), std::end(text), number);
  out.append(text, end);
}

Result<void> append_real(std::string& out, reflection::BaseType type, double number) {
  if (!std::isfinite(number)) {
    return fail(Error::invalid_operation(
        "is " + std::string(std::isnan(number) ? "NaN" : "infinite") + ", which JSON cannot say"));
  }
  if (number == 0 && std::signbit(number)) {
    out += "-0.0";  // "-0" would be read as an integer, which has no sign of its own
  } else if (type == reflection::Float) {
    append_number(out, static_cast<float>(number));
  } else {
    append_number(out, number);
  }
  return {};
}

Result<void> append_choice(std::string& out, const ValueShape& shape, ScalarBits bits) {
  const auto& choices = *shape.choices;
  const auto unnamed = [&] {
    return fail(
        Error::invalid_operation("is " + std::to_string(static_cast<std::int64_t>(bits.value)) +
                                 ", which " + std::string(choices.name) + " does not name"));
  };
  out += '"';
  if (!choices.is_flags) {
    const auto* value = choices.find(static_cast<std::int64_t>(bits.value));
    if (value == nullptr) return unnamed();
    out += value->name;
  } else {
    auto rest = bits.value;
    for (const auto& flag : choices.values) {
      const auto mask = static_cast<std::uint64_t>(flag.value);
      if ((bits.value & mask) != mask) continue;
      if (rest != bits.value) out += ' ';
      out += flag.name;
      rest &= ~mask;
    }
    if (rest != 0) return unnamed();
  }
  out += '"';
  return {};
}

template <typename T>
ScalarBits load_as(const std::uint8_t* address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return {static_cast<std::uint64_t>(value)};
}

}  // namespace

std::string JsonPath::text() const {
  std::string text = "payload";
  for (const auto& step : steps_) {
    if (step.field.empty()) {
      text += '[' + std::to_string(step.index) + ']';
    } else {
      text += '.';
      text += step.field;
    }
  }
  return text;
}

Result<ScalarBits> scalar_from_json(const ValueShape& shape, const json& value) {
  switch (shape.kind) {
    case ValueKind::boolean:
      if (!value.is_boolean()) return refuse("must be true or false, not " + shown(value));
      return ScalarBits{value.get<bool>() ? 1U : 0U};
    case ValueKind::integer:
      return integer(shape.scalar, value);
    case ValueKind::real:
      return real(shape.scalar, value);
    default:
      return choice(*shape.choices, value);
  }
}

Result<void> append_scalar(std::string& out, const ValueShape& shape, ScalarBits bits) {
  switch (shape.kind) {
    case ValueKind::boolean:
      out += bits.value != 0 ? "true" : "false";
      return {};
    case ValueKind::integer:
      if (flatbuffers::GetTypeSize(shape.scalar) < sizeof(std::uint64_t)) {
        append_number(out, static_cast<std::int64_t>(bits.value));
        return {};
      }
      out += '"';
      if (shape.scalar == reflection::Long) {
        append_number(out, static_cast<std::int64_t>(bits.value));
      } else {
        append_number(out, bits.value);
      }
      out += '"';
      return {};
    case ValueKind::real:
      return append_real(out, shape.scalar, std::bit_cast<double>(bits.value));
    default:
      return append_choice(out, shape, bits);
  }
}

ScalarBits default_bits(const FieldShape& field) {
  if (field.value.kind == ValueKind::real) {
    return {std::bit_cast<std::uint64_t>(field.default_real)};
  }
  return {static_cast<std::uint64_t>(field.default_integer)};
}

ScalarBits load_scalar(const std::uint8_t* address, reflection::BaseType type) {
  switch (type) {
    case reflection::Bool:
      return {*address != 0 ? 1U : 0U};
    case reflection::Byte:
      return load_as<std::int8_t>(address);
    case reflection::Short:
      return load_as<std::int16_t>(address);
    case reflection::UShort:
      return load_as<std::uint16_t>(address);
    case reflection::Int:
      return load_as<std::int32_t>(address);
    case reflection::UInt:
      return load_as<std::uint32_t>(address);
    case reflection::Long:
    case reflection::ULong:
    case reflection::Double:
      return load_as<std::uint64_t>(address);
    case reflection::Float: {
      float value = 0;
      std::memcpy(&value, address, sizeof(value));
      return {std::bit_cast<std::uint64_t>(static_cast<double>(value))};
    }
    default:
      return load_as<std::uint8_t>(address);
  }
}

void store_scalar(std::uint8_t* address, reflection::BaseType type, ScalarBits bits) {
  if (type == reflection::Float) {
    const auto value = static_cast<float>(std::bit_cast<double>(bits.value));
    std::memcpy(address, &value, sizeof(value));
    return;
  }
  // The machine is little-endian (codec/encoder.hpp holds us to it), so the low bytes come first.
  std::memcpy(address, &bits.value, flatbuffers::GetTypeSize(type));
}

}  // namespace spotmesh::wire
