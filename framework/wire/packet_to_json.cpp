#include <flatbuffers/flatbuffers.h>

#include <string>
#include <utility>

#include <spotmesh/codec/decoder.hpp>

#include "wire/base64.hpp"
#include "wire/json_by_schema.hpp"
#include "wire/json_values.hpp"
#include "wire/text.hpp"

namespace spotmesh::wire {
namespace {

using codec::Elements;
using flatbuffers::Table;

// Writes verified bytes; what it reads is where the schema says it is.
class JsonWriter {
 public:
  explicit JsonWriter(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  Result<std::string> write(const ObjectShape& shape, const Table& root) {
    if (auto done = table(shape, root); !done) return fail(done.error());
    return std::move(out_);
  }

 private:
  Result<void> table(const ObjectShape& shape, const Table& table) {
    if (auto room = check_length(); !room) return room;
    out_ += '{';
    for (const auto& field : shape.fields) {
      const JsonPath::Step step(path_, field.name);
      begin_field(shape, field);
      if (auto done = member(field, table); !done) return done;
    }
    out_ += '}';
    return {};
  }

  // Asked wherever the text can grow without end: before each table and each element of a series.
  Result<void> check_length() const {
    if (out_.size() <= max_bytes_) return {};
    return fail(Error::capacity_exceeded("as JSON the packet is longer than " +
                                         std::to_string(max_bytes_) + " bytes"));
  }

  void begin_field(const ObjectShape& shape, const FieldShape& field) {
    if (&field != shape.fields.data()) out_ += ',';
    out_ += '"';
    out_ += field.name;  // an identifier: nothing in it needs an escape
    out_ += "\":";
  }

  Result<void> member(const FieldShape& field, const Table& table) {
    if (field.series == Series::vector) return vector(field, table);
    const auto* address = table.GetAddressOf(field.offset);
    switch (field.value.kind) {
      case ValueKind::string:
        append_json_string(out_, codec::decode_string(table, field.offset));
        return {};
      case ValueKind::structure:
      case ValueKind::table:
        if (address == nullptr) return null();
        return value(field.value,
                     field.value.kind == ValueKind::structure ? address : target(address));
      case ValueKind::one_of: {
        const auto type = table.GetField<std::uint8_t>(field.type_offset, 0);
        return type == 0 ? null() : alternative(field.value, type, target(address));
      }
      default:
        if (address != nullptr) return value(field.value, address);
        if (field.is_optional_scalar) return null();
        return scalar(field.value, default_bits(field));
    }
  }

  Result<void> vector(const FieldShape& field, const Table& table) {
    const auto elements = codec::decode_elements(table, field.offset);
    if (field.is_bytes()) return base64(elements.first, elements.count);
    const auto types = field.value.kind == ValueKind::one_of
                           ? codec::decode_elements(table, field.type_offset)
                           : Elements{};
    const bool is_inline = field.value.is_scalar() || field.value.kind == ValueKind::structure;
    const auto width = field.value.width();
    return series(elements.count, [&](std::uint32_t index) {
      if (is_inline) return value(field.value, elements.first + index * width);
      if (types.first != nullptr) {
        return alternative(field.value, types.first[index], elements.target(index));
      }
      return value(field.value, elements.target(index));
    });
  }

  template <typename Write>
  Result<void> series(std::uint32_t count, Write write) {
    out_ += '[';
    for (std::uint32_t index = 0; index < count; ++index) {
      const JsonPath::Step step(path_, index);
      if (auto room = check_length(); !room) return room;
      if (index > 0) out_ += ',';
      if (auto done = write(index); !done) return done;
    }
    out_ += ']';
    return {};
  }

  Result<void> value(const ValueShape& shape, const std::uint8_t* address) {
    switch (shape.kind) {
      case ValueKind::string:
        append_json_string(out_, codec::decode_string(address));
        return {};
      case ValueKind::structure:
        return structure(*shape.object, address);
      case ValueKind::table:
        return table(*shape.object, *reinterpret_cast<const Table*>(address));
      default:
        return scalar(shape, load_scalar(address, shape.scalar));
    }
  }

  Result<void> structure(const ObjectShape& shape, const std::uint8_t* address) {
    out_ += '{';
    for (const auto& field : shape.fields) {
      const JsonPath::Step step(path_, field.name);
      begin_field(shape, field);
      const auto* first = address + field.offset;
      auto done = field.series == Series::array ? array(field, first) : value(field.value, first);
      if (!done) return done;
    }
    out_ += '}';
    return {};
  }

  Result<void> array(const FieldShape& field, const std::uint8_t* first) {
    if (field.is_bytes()) return base64(first, field.array_length);
    return series(field.array_length, [&](std::uint32_t index) {
      return value(field.value, first + index * field.value.width());
    });
  }

  Result<void> alternative(const ValueShape& shape, std::uint8_t type,
                           const std::uint8_t* address) {
    const auto* found = shape.choices->find(std::int64_t{type});
    if (found == nullptr) {
      return refuse(Error::invalid_operation("holds alternative " + std::to_string(type) + " of " +
                                             std::string(shape.choices->name) +
                                             ", which this schema does not name"));
    }
    out_ += "{\"type\":\"";
    out_ += found->name;
    out_ += "\",\"value\":";
    const JsonPath::Step step(path_, "value");
    if (auto done = value(found->alternative, address); !done) return done;
    out_ += '}';
    return {};
  }

  Result<void> scalar(const ValueShape& shape, ScalarBits bits) {
    if (auto done = append_scalar(out_, shape, bits); !done) return refuse(done.error());
    return {};
  }

  Result<void> base64(const std::uint8_t* first, std::size_t count) {
    out_ += '"';
    append_base64(out_, {reinterpret_cast<const std::byte*>(first), count});
    out_ += '"';
    return {};
  }

  Result<void> null() {
    out_ += "null";
    return {};
  }

  std::unexpected<Error> refuse(const Error& what) const {
    return fail(Error(what.kind(), path_.text() + " " + what.message()));
  }

  static const std::uint8_t* target(const std::uint8_t* slot) {
    return slot + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(slot);
  }

  std::size_t max_bytes_;
  std::string out_;
  JsonPath path_;
};

}  // namespace

Result<std::string> packet_to_json(const CatalogPacket& packet, ByteView bytes,
                                   std::size_t max_bytes) {
  const codec::AlignedBytes aligned(bytes);
  if (!packet.descriptor->verify(aligned.view())) {
    return fail(codec::unsound_packet(packet.descriptor->name));
  }
  const auto* first = reinterpret_cast<const std::uint8_t*>(aligned.view().data());
  const auto offset = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(first);
  auto text =
      JsonWriter(max_bytes).write(*packet.shape, *reinterpret_cast<const Table*>(first + offset));
  if (text && text->size() > max_bytes) {
    return fail(Error::capacity_exceeded("as JSON packet " + std::string(packet.descriptor->name) +
                                         " is longer than " + std::to_string(max_bytes) +
                                         " bytes"));
  }
  return text;
}

}  // namespace spotmesh::wire
