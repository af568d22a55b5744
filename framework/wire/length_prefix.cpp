#include "wire/length_prefix.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::wire {
namespace {

// A longer buffer goes back once its frame was taken, so that idle clients hold none.
constexpr std::size_t kept_capacity_bytes = 1024;

}  // namespace

std::array<std::byte, length_prefix_bytes> length_prefix(std::uint32_t length) {
  std::array<std::byte, length_prefix_bytes> prefix;
  for (unsigned i = 0; i < prefix.size(); ++i) {
    prefix[i] = static_cast<std::byte>(length >> (8 * i) & 0xff);
  }
  return prefix;
}

void append_length_prefix(Bytes& out, std::uint32_t length) {
  const auto prefix = length_prefix(length);
  out.insert(out.end(), prefix.begin(), prefix.end());
}

LengthPrefixDecoder::Event LengthPrefixDecoder::next(ByteView& input) {
  if (std::exchange(is_delivered_, false)) {
    frame_.clear();
    if (frame_.capacity() > kept_capacity_bytes) Bytes().swap(frame_);
  }
  if (has_failed_) {
    input = {};
    return {};
  }
  const bool is_new = prefix_size_ < length_prefix_bytes;
  if (!take_prefix(input)) return {};
  if (is_new && (length_ < bounds_.min_frame_bytes || length_ > bounds_.max_frame_bytes)) {
    if (length_ > bounds_.max_frame_bytes) {
      return fail({CloseCode::MessageTooBig,
                   fmt::format("message of {} bytes is over the limit of {} bytes", length_,
                               bounds_.max_frame_bytes)},
                  input);
    }
    return fail({CloseCode::BadMessage, fmt::format("a length of {} bytes; the least is {}",
                                                    length_, bounds_.min_frame_bytes)},
                input);
  }
  if (frame_.empty() && input.size() >= length_) {
    const ByteView whole = input.first(length_);
    input = input.subspan(length_);
    return deliver(whole);
  }
  const ByteView arrived = input.first(std::min(length_ - frame_.size(), input.size()));
  frame_.insert(frame_.end(), arrived.begin(), arrived.end());
  input = input.subspan(arrived.size());
  if (frame_.size() < length_) return {};
  is_delivered_ = true;
  return deliver(frame_);
}

// Whether the prefix is whole.
bool LengthPrefixDecoder::take_prefix(ByteView& input) {
  while (prefix_size_ < length_prefix_bytes && !input.empty()) {
    prefix_[prefix_size_++] = input.front();
    input = input.subspan(1);
    if (prefix_size_ < length_prefix_bytes) continue;
    length_ = 0;
    for (std::size_t i = length_prefix_bytes; i > 0; --i) {
      length_ = length_ << 8 | std::to_integer<std::size_t>(prefix_[i - 1]);
    }
  }
  return prefix_size_ == length_prefix_bytes;
}

LengthPrefixDecoder::Event LengthPrefixDecoder::fail(WebSocketClose close, ByteView& input) {
  has_failed_ = true;
  input = {};
  return {.kind = Event::Kind::Failed, .frame = {}, .close = std::move(close)};
}

LengthPrefixDecoder::Event LengthPrefixDecoder::deliver(ByteView frame) {
  prefix_size_ = 0;
  return {.kind = Event::Kind::Frame, .frame = frame, .close = {}};
}

}  // namespace spotmesh::wire
