#include <spotmesh/codec/encoder.hpp>
#include <spotmesh/limits.hpp>
#include <stdexcept>

namespace spotmesh::codec {

std::uint32_t Encoder::string(const std::string& value, Presence presence) {
  if (value.empty() && presence == Presence::optional) return 0;
  return builder_.string(value);
}

std::uint32_t Encoder::strings(const std::vector<std::string>& values, Presence presence) {
  if (values.empty() && presence == Presence::optional) return 0;
  std::vector<std::uint32_t> offsets;
  offsets.reserve(values.size());
  for (const auto& value : values) offsets.push_back(builder_.string(value));
  return vector_of(offsets);
}

std::uint32_t Encoder::bytes(const Bytes& value, Presence presence) {
  if (value.empty() && presence == Presence::optional) return 0;
  return scalar_vector(value.data(), value.size(), 1);
}

std::uint32_t Encoder::scalars(const std::vector<bool>& values, Presence presence) {
  const std::vector<std::uint8_t> octets(values.begin(), values.end());
  return scalars(octets, presence);
}

void Encoder::enter_table() {
  if (++depth_ > limits::packet_depth) {
    throw std::length_error("a packet's tables nest deeper than " +
                            std::to_string(limits::packet_depth) + " levels");
  }
}

void Encoder::refuse_empty_union(const char* field) {
  throw std::logic_error(std::string(field) +
                         " is a union that must hold a value, and it is empty");
}

std::uint32_t Encoder::scalar_vector(const void* values, std::size_t count, std::size_t width) {
  builder_.begin_vector(count * width, width);
  builder_.push_bytes(values, count * width);
  return builder_.end_vector(count);
}

std::uint32_t Encoder::vector_of(const std::vector<std::uint32_t>& offsets) {
  builder_.begin_vector(offsets.size() * sizeof(std::uint32_t), sizeof(std::uint32_t));
  for (std::size_t index = offsets.size(); index > 0; --index) {
    builder_.push_offset(offsets[index - 1]);
  }
  return builder_.end_vector(offsets.size());
}

ByteView Encoder::finish(std::uint32_t root) {
  builder_.finish(root);
  return {reinterpret_cast<const std::byte*>(builder_.data()), builder_.size()};
}

}  // namespace spotmesh::codec
