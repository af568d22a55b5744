#include <spotmesh/codec/decoder.hpp>

namespace spotmesh::codec {

Error unsound_packet(std::string_view name) {
  return Error::protocol_error("the bytes are not a sound " + std::string(name) + " packet");
}

std::string_view decode_string(const std::uint8_t* address) {
  const auto& string = *reinterpret_cast<const flatbuffers::String*>(address);
  return {string.c_str(), string.size()};
}

std::string_view decode_string(const flatbuffers::Table& table, std::uint16_t field) {
  const auto* address = table.GetPointer<const std::uint8_t*>(field);
  return address == nullptr ? std::string_view() : decode_string(address);
}

Elements decode_elements(const flatbuffers::Table& table, std::uint16_t field) {
  const auto* vector = table.GetPointer<const std::uint8_t*>(field);
  if (vector == nullptr) return {};
  return {vector + sizeof(flatbuffers::uoffset_t),
          flatbuffers::ReadScalar<flatbuffers::uoffset_t>(vector)};
}

ByteView decode_bytes(const flatbuffers::Table& table, std::uint16_t field) {
  const auto elements = decode_elements(table, field);
  return {reinterpret_cast<const std::byte*>(elements.first), elements.count};
}

std::vector<std::string> decode_strings(const flatbuffers::Table& table, std::uint16_t field) {
  const auto elements = decode_elements(table, field);
  std::vector<std::string> values;
  values.reserve(elements.count);
  for (std::uint32_t index = 0; index < elements.count; ++index) {
    values.emplace_back(decode_string(elements.target(index)));
  }
  return values;
}

}  // namespace spotmesh::codec
