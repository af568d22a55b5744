#include <spotmesh/codec/verifier.hpp>

#include "base/utf8.hpp"

namespace spotmesh::codec {
namespace {

constexpr std::size_t packet_alignment = 8;

flatbuffers::Verifier::Options verifier_options() {
  flatbuffers::Verifier::Options options;
  options.max_depth = limits::packet_depth;
  options.max_tables = limits::packet_tables;
  return options;
}

}  // namespace

// An oversized buffer is checked as an empty one, which no root accepts: FlatBuffers asserts on
// sizes it cannot address.
Verifier::Verifier(ByteView bytes)
    : bytes_(bytes.size() <= limits::message_bytes ? bytes : ByteView()),
      verifier_(begin(), bytes_.size(), verifier_options()) {}

bool Verifier::begin_table(const flatbuffers::Table& table) {
  if (!table.VerifyTableStart(verifier_)) return false;
  const auto* vtable = table.GetVTable();
  const auto vtable_size = flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable);
  // A vtable without its two heads would make the size below a read past its end.
  if (vtable_size < 2 * sizeof(flatbuffers::voffset_t)) return false;
  return charge(
      flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable + sizeof(flatbuffers::voffset_t)));
}

bool Verifier::offset(const flatbuffers::Table& table, std::uint16_t field,
                      Presence presence) const {
  return presence == Presence::required ? table.VerifyOffsetRequired(verifier_, field)
                                        : table.VerifyOffset(verifier_, field);
}

bool Verifier::vector(const flatbuffers::Table& table, std::uint16_t field,
                      std::size_t element_size, std::size_t alignment, Presence presence) {
  if (!offset(table, field, presence)) return false;
  const auto* vector = table.GetPointer<const std::uint8_t*>(field);
  if (vector == nullptr) return true;
  const auto elements = static_cast<std::size_t>(vector - begin()) + sizeof(flatbuffers::uoffset_t);
  std::size_t end = 0;
  return verifier_.VerifyVectorOrString(vector, element_size, &end) &&
         (end == elements || verifier_.VerifyAlignment(elements, alignment)) &&
         charge(end - elements + sizeof(flatbuffers::uoffset_t));
}

bool Verifier::string(const std::uint8_t* address) {
  const auto* string = reinterpret_cast<const flatbuffers::String*>(address);
  return verifier_.VerifyString(string) &&
         charge(string->size() + sizeof(flatbuffers::uoffset_t) + 1) &&
         is_valid_utf8({string->c_str(), string->size()});
}

bool Verifier::string(const flatbuffers::Table& table, std::uint16_t field, Presence presence) {
  if (!offset(table, field, presence)) return false;
  const auto* address = table.GetPointer<const std::uint8_t*>(field);
  return address == nullptr || string(address);
}

bool Verifier::strings(const flatbuffers::Table& table, std::uint16_t field, Presence presence) {
  return each(table, field, presence,
              [this](std::uint32_t, const std::uint8_t* address) { return string(address); });
}

bool Verifier::charge(std::size_t size) {
  unshared_size_ += size;
  return unshared_size_ <= limits::message_bytes;
}

bool AlignedBytes::is_aligned(ByteView bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % packet_alignment == 0;
}

AlignedBytes::AlignedBytes(ByteView bytes) : view_(bytes) {
  if (is_aligned(bytes)) return;
  // The default allocator aligns for std::max_align_t.
  static_assert(alignof(std::max_align_t) >= packet_alignment);
  copy_.assign(bytes.begin(), bytes.end());
  view_ = copy_;
}

}  // namespace spotmesh::codec
