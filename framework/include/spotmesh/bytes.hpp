// Byte buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
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
// Copying is cheap and safe from any thread. An empty value holds no allocation, any other one.
class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(const Bytes& bytes) : SharedBytes(copy_of(bytes)) {}
  static SharedBytes copy_of(ByteView view);
  // Copies of both, the second behind the first.
  static SharedBytes joined(ByteView first, ByteView second);
  SharedBytes(const SharedBytes& other) : block_(other.block_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  SharedBytes(SharedBytes&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedBytes& operator=(SharedBytes other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedBytes() {
    if (block_ == nullptr) return;
    // Who has the only reference is the only one who could make another.
    if (block_->references.load(std::memory_order_acquire) == 1 ||
        block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      end(block_);
    }
  }

  ByteView view() const { return block_ ? ByteView(block_->bytes(), block_->size) : ByteView(); }
  std::size_t size() const { return block_ ? block_->size : 0; }
  bool empty() const { return block_ == nullptr; }

 private:
  // Stands before the bytes in one allocation, which are aligned as if they had their own.
  struct alignas(16) Block {
    std::atomic<std::uint32_t> references{1};
    std::size_t size;
    std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  };
  static Block* make(std::size_t size);
  static void end(Block* block) noexcept;

  Block* block_ = nullptr;
};

}  // namespace spotmesh
