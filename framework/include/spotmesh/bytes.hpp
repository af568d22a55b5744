// Byte buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spotmesh {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView as_bytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}
inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline Bytes to_bytes(std::string_view text) {
  auto view = as_bytes(text);
  return {view.begin(), view.end()};
}

// Immutable bytes shared by reference: a broadcast is encoded once and queued to many receivers.
// Copying is cheap and safe from any thread. An empty value holds no allocation.
class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(Bytes bytes)
      : bytes_(bytes.empty() ? nullptr : std::make_shared<const Bytes>(std::move(bytes))) {}
  static SharedBytes copy_of(ByteView view) { return SharedBytes(Bytes(view.begin(), view.end())); }

  ByteView view() const { return bytes_ ? ByteView(*bytes_) : ByteView(); }
  std::size_t size() const { return bytes_ ? bytes_->size() : 0; }
  bool empty() const { return size() == 0; }

 private:
  std::shared_ptr<const Bytes> bytes_;
};

}  // namespace spotmesh
