#include <spotmesh/codec/encoder.hpp>
#include <spotmesh/limits.hpp>
#include <stdexcept>

namespace spotmesh::codec {

std::uint32_t Encoder::string(const std::string& value, Presence presence) {
  if (value.empty() && presence == Presence::optional) return 0;
  return builder_.CreateString(value).o;
}

std::uint32_t Encoder::strings(const std::vector<std::string>& values, Presence presence) {
  if (values.empty() && presence == Presence::optional) return 0;
  std::vector<std::uint32_t> offsets;
  offsets.reserve(values.size());
  for (const auto& value : values) offsets.push_back(builder_.CreateString(value).o);
  return vector_of(offsets);
}

std::uint32_t Encoder::bytes(const Bytes& value, Presence presence) {
  if (value.empty() && presence == Presence::optional) return 0;
  return builder_.CreateVector(reinterpret_cast<const std::uint8_t*>(value.data()), value.size()).o;
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

std::uint32_t Encoder::vector_of(const std::vector<std::uint32_t>& offsets) {
  builder_.StartVector(offsets.size(), sizeof(flatbuffers::uoffset_t));
  for (std::size_t index = offsets.size(); index > 0; --index) {
    builder_.PushElement(flatbuffers::Offset<void>(offsets[index - 1]));
  }
  return builder_.EndVector(offsets.size());
}

ByteView Encoder::finish(std::uint32_t root) {
  builder_.Finish(flatbuffers::Offset<void>(root));
  return {reinterpret_cast<const std::byte*>(builder_.GetBufferPointer()), builder_.GetSize()};
}

std::uint8_t* Encoder::FirstBuffer::allocate(std::size_t wanted) {
  // A builder asks for its initial size once, and only for more after that.
  return wanted == size ? bytes_.data() : new std::uint8_t[wanted];
}

void Encoder::FirstBuffer::deallocate(std::uint8_t* buffer, std::size_t) {
  if (buffer != bytes_.data()) delete[] buffer;
}

}  // namespace spotmesh::codec
