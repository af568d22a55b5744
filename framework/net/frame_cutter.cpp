#include "net/frame_cutter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace spotmesh::net {
namespace {

// A frame of more is cheaper to point at than to copy.
constexpr std::size_t short_bytes = 4096;

}  // namespace

Result<std::size_t> FrameCutter::length_of(ByteView prefix) const {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < prefix_bytes; ++i) {
    length |= std::to_integer<std::uint32_t>(prefix[i]) << (8 * i);
  }
  if (length == 0 || length > longest_) {
    return fail(Error::protocol_error(
        fmt::format("a frame of {} bytes is announced; 1 to {} are allowed", length, longest_)));
  }
  return length;
}

void FrameCutter::fill(ByteView& bytes, std::size_t wanted) {
  const std::size_t taken = std::min(wanted - begun_.size(), bytes.size());
  begun_.insert(begun_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
  bytes = bytes.subspan(taken);
}

Result<void> FrameCutter::take(ByteView bytes, std::vector<SharedBytes>& frames) {
  while (!bytes.empty()) {
    if (begun_.empty() && bytes.size() > prefix_bytes) {
      const auto length = length_of(bytes);
      if (!length) return fail(length.error());
      if (const ByteView rest = bytes.subspan(prefix_bytes); rest.size() >= *length) {
        frames.push_back(SharedBytes::copy_of(rest.first(*length)));
        bytes = rest.subspan(*length);
        continue;
      }
    }
    if (begun_.size() < prefix_bytes) {
      fill(bytes, prefix_bytes);
      if (begun_.size() < prefix_bytes) return {};
    }
    const auto length = length_of(begun_);
    if (!length) return fail(length.error());
    fill(bytes, prefix_bytes + *length);
    if (begun_.size() < prefix_bytes + *length) return {};
    frames.push_back(SharedBytes::copy_of(ByteView(begun_).subspan(prefix_bytes)));
    begun_.clear();
    if (begun_.capacity() > short_bytes) Bytes().swap(begun_);
  }
  return {};
}

std::vector<SharedBytes> with_prefixes(std::vector<SharedBytes> frames) {
  std::vector<SharedBytes> parts;
  Bytes together;
  const auto end_part = [&] {
    if (!together.empty()) parts.push_back(SharedBytes::copy_of(together));
    together.clear();
  };
  for (SharedBytes& frame : frames) {
    for (std::size_t i = 0; i < FrameCutter::prefix_bytes; ++i) {
      together.push_back(std::byte(frame.size() >> (8 * i) & 0xff));
    }
    const ByteView view = frame.view();
    if (view.size() <= short_bytes) {
      together.insert(together.end(), view.begin(), view.end());
    } else {
      end_part();
      parts.push_back(std::move(frame));
    }
  }
  end_part();
  return parts;
}

}  // namespace spotmesh::net
