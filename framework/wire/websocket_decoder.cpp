#include "wire/websocket_decoder.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/utf8.hpp"

namespace spotmesh::wire {
namespace {

constexpr std::uint8_t final_bit = 0x80;
constexpr std::uint8_t reserved_bits = 0x70;
constexpr std::uint8_t opcode_bits = 0x0f;
constexpr std::uint8_t mask_bit = 0x80;
constexpr std::uint8_t length_bits = 0x7f;
constexpr std::uint8_t two_byte_length = 126;
constexpr std::uint8_t eight_byte_length = 127;
constexpr std::size_t short_header_bytes = 2;
constexpr std::uint8_t whole_text = final_bit | static_cast<std::uint8_t>(WebSocketOpcode::Text);
constexpr std::uint8_t whole_binary =
    final_bit | static_cast<std::uint8_t>(WebSocketOpcode::Binary);

// A buffer of up to this size is kept between messages; a larger one is given back, so that ten
// thousand idle clients that once sent a long message do not hold its memory.
constexpr std::size_t kept_buffer_bytes = 1024;

bool is_control(WebSocketOpcode opcode) { return static_cast<std::uint8_t>(opcode) >= 0x8; }

bool is_known(WebSocketOpcode opcode) {
  switch (opcode) {
    case WebSocketOpcode::Continuation:
    case WebSocketOpcode::Text:
    case WebSocketOpcode::Binary:
    case WebSocketOpcode::Close:
    case WebSocketOpcode::Ping:
    case WebSocketOpcode::Pong:
      return true;
  }
  return false;
}

std::size_t extended_length_bytes(std::uint8_t second_byte) {
  const std::uint8_t length = second_byte & length_bits;
  if (length == two_byte_length) return 2;
  if (length == eight_byte_length) return 8;
  return 0;
}

}  // namespace

WebSocketDecoder::WebSocketDecoder(WebSocketDecoderOptions options) : options_(options) {}

WebSocketEvent WebSocketDecoder::next(ByteView& input) {
  release_delivered();
  WebSocketEvent event;
  if (take_plain_message(input, event)) return event;
  while (!has_ended_) {
    if (!is_in_payload_) {
      if (!take_header(input)) break;
      if (!is_in_payload_) return event;
    }
    if (!take_payload(input)) break;
    if (frame_.received < frame_.length) return event;
    if (!finish_frame(event)) break;
    if (event.kind != WebSocketEvent::Kind::NeedMoreBytes) return event;
  }
  input = {};
  if (!has_ended_) {
    has_ended_ = true;
    Bytes().swap(message_);
    event.kind = WebSocketEvent::Kind::Failed;
    event.close = std::move(failure_);
  }
  return event;
}

bool WebSocketDecoder::take_plain_message(ByteView& input, WebSocketEvent& event) {
  if (has_ended_ || header_size_ > 0 || is_in_payload_ || is_in_message_) return false;
  if (input.size() < short_header_bytes + sizeof(MaskKey)) return false;
  const auto byte_at = [&](std::size_t i) { return std::to_integer<std::uint8_t>(input[i]); };
  const bool is_text = byte_at(0) == whole_text;
  if (!is_text && byte_at(0) != whole_binary) return false;
  const bool is_masked = (byte_at(1) & mask_bit) != 0;
  if (is_masked != (options_.role == WebSocketRole::Server)) return false;
  std::size_t length = byte_at(1) & length_bits;
  std::size_t header = short_header_bytes;
  if (length > two_byte_length) return false;
  if (length == two_byte_length) {
    length = std::size_t{byte_at(2)} << 8 | byte_at(3);
    header += 2;
    if (length < two_byte_length) return false;
  }
  const std::size_t mask_at = header;
  if (is_masked) header += sizeof(MaskKey);
  if (length > options_.max_message_bytes || input.size() < header + length) return false;
  ByteView plain = input.subspan(header, length);
  if (is_masked) {
    MaskKey mask;
    std::memcpy(mask.data(), input.data() + mask_at, mask.size());
    message_.assign(plain.begin(), plain.end());
    apply_mask(message_, mask, 0);
    plain = message_;
  }
  if (is_text && !is_valid_utf8(as_text(plain))) {
    message_.clear();
    return false;
  }
  input = input.subspan(header + length);
  is_delivered_ = true;
  event.kind = is_text ? WebSocketEvent::Kind::Text : WebSocketEvent::Kind::Binary;
  event.payload = plain;
  return true;
}

bool WebSocketDecoder::has_partial_message() const {
  return !has_ended_ && (header_size_ > 0 || is_in_payload_ || is_in_message_);
}

// Faults are looked for after each header byte, so that a peer which sends one byte at a time
// learns of them no later than one that sends all at once.
bool WebSocketDecoder::take_header(ByteView& input) {
  if (header_size_ == 0 && input.size() >= header_.size()) return take_whole_header(input);
  while (!input.empty()) {
    header_[header_size_++] = static_cast<std::uint8_t>(input.front());
    input = input.subspan(1);
    if (!check_header()) return false;
    if (header_size_ == wanted_header_bytes()) return begin_frame();
  }
  return true;
}

// The same faults, found in the same order, in a header that has come whole, as nearly all do.
bool WebSocketDecoder::take_whole_header(ByteView& input) {
  std::memcpy(header_.data(), input.data(), header_.size());
  header_size_ = short_header_bytes;
  if (!check_first_byte() || !check_second_byte()) return false;
  header_size_ = wanted_header_bytes();
  if (!read_length()) return false;
  input = input.subspan(header_size_);
  return begin_frame();
}

std::size_t WebSocketDecoder::wanted_header_bytes() const {
  if (header_size_ < short_header_bytes) return short_header_bytes;
  const std::size_t mask_bytes = (header_[1] & mask_bit) != 0 ? frame_.mask.size() : 0;
  return short_header_bytes + extended_length_bytes(header_[1]) + mask_bytes;
}

bool WebSocketDecoder::check_header() {
  if (header_size_ == 1) return check_first_byte();
  if (header_size_ == short_header_bytes && !check_second_byte()) return false;
  if (header_size_ != short_header_bytes + extended_length_bytes(header_[1])) return true;
  return read_length();
}

bool WebSocketDecoder::check_first_byte() {
  const std::uint8_t byte = header_[0];
  frame_ = Frame{.opcode = static_cast<WebSocketOpcode>(byte & opcode_bits),
                 .is_final = (byte & final_bit) != 0};
  if ((byte & reserved_bits) != 0) {
    return fail(CloseCode::ProtocolError,
                "reserved bit in a frame header: no extension was negotiated");
  }
  if (!is_known(frame_.opcode)) {
    return fail(CloseCode::ProtocolError,
                "frame opcode " + std::to_string(byte & opcode_bits) + " is not defined");
  }
  if (is_control(frame_.opcode)) {
    if (frame_.is_final) return true;
    return fail(CloseCode::ProtocolError, "a control frame must not be fragmented");
  }
  const bool is_continuation = frame_.opcode == WebSocketOpcode::Continuation;
  if (is_continuation && !is_in_message_) {
    return fail(CloseCode::ProtocolError, "continuation frame without a message to continue");
  }
  if (!is_continuation && is_in_message_) {
    return fail(CloseCode::ProtocolError, "new message before the fragmented one has ended");
  }
  return true;
}

bool WebSocketDecoder::check_second_byte() {
  frame_.is_masked = (header_[1] & mask_bit) != 0;
  if (frame_.is_masked != (options_.role == WebSocketRole::Server)) {
    return fail(CloseCode::ProtocolError, frame_.is_masked ? "a server's frame must not be masked"
                                                           : "a client's frame must be masked");
  }
  if (is_control(frame_.opcode) && extended_length_bytes(header_[1]) > 0) {
    return fail(CloseCode::ProtocolError, "a control frame carries at most 125 bytes");
  }
  return true;
}

bool WebSocketDecoder::read_length() {
  const std::size_t extended = extended_length_bytes(header_[1]);
  std::uint64_t length = header_[1] & length_bits;
  if (extended > 0) {
    length = 0;
    for (std::size_t i = 0; i < extended; ++i) length = length << 8 | header_[2 + i];
    if ((length >> 63) != 0) {
      return fail(CloseCode::ProtocolError, "the highest bit of a frame length must be 0");
    }
    if (length < (extended == 2 ? 126U : 65536U)) {
      return fail(CloseCode::ProtocolError,
                  "frame length " + std::to_string(length) + " is not in its shortest form");
    }
  }
  frame_.length = length;
  if (is_control(frame_.opcode) || length <= options_.max_message_bytes - message_.size()) {
    return true;
  }
  return fail(CloseCode::MessageTooBig, "message of " + std::to_string(message_.size() + length) +
                                            (frame_.is_final ? "" : " or more") +
                                            " bytes is over the limit of " +
                                            std::to_string(options_.max_message_bytes) + " bytes");
}

bool WebSocketDecoder::begin_frame() {
  if (frame_.is_masked) {
    std::memcpy(frame_.mask.data(), header_.data() + header_size_ - frame_.mask.size(),
                frame_.mask.size());
  }
  header_size_ = 0;
  is_in_payload_ = true;
  if (is_control(frame_.opcode)) return true;
  if (!is_in_message_) {
    is_in_message_ = true;
    is_text_ = frame_.opcode == WebSocketOpcode::Text;
    fragments_ = 0;
    utf8_.reset();
  }
  if (++fragments_ <= options_.max_message_fragments) return true;
  return fail(
      CloseCode::PolicyViolation,
      "message in more than " + std::to_string(options_.max_message_fragments) + " fragments");
}

bool WebSocketDecoder::take_payload(ByteView& input) {
  const auto count = static_cast<std::size_t>(
      std::min<std::uint64_t>(frame_.length - frame_.received, input.size()));
  if (count == 0) return true;
  const ByteView arrived = input.first(count);
  input = input.subspan(count);
  const auto offset = static_cast<std::size_t>(frame_.received);
  frame_.received += count;
  if (!is_control(frame_.opcode)) return take_data(arrived, offset);
  std::copy(arrived.begin(), arrived.end(), control_.begin() + offset);
  if (frame_.is_masked) apply_mask(std::span(control_).subspan(offset, count), frame_.mask, offset);
  return true;
}

bool WebSocketDecoder::take_data(ByteView arrived, std::size_t offset) {
  const bool is_whole_message = frame_.is_final && arrived.size() == frame_.length &&
                                frame_.opcode != WebSocketOpcode::Continuation;
  ByteView plain = arrived;
  if (is_whole_message && !frame_.is_masked) {
    borrowed_ = arrived;
  } else {
    const std::size_t start = message_.size();
    message_.insert(message_.end(), arrived.begin(), arrived.end());
    const auto added = std::span(message_).subspan(start);
    if (frame_.is_masked) apply_mask(added, frame_.mask, offset);
    plain = added;
  }
  if (!is_text_ || utf8_.feed(plain)) return true;
  return fail(CloseCode::InvalidText,
              "text message is not UTF-8 at byte " + std::to_string(utf8_.bad_position()));
}

bool WebSocketDecoder::finish_frame(WebSocketEvent& event) {
  is_in_payload_ = false;
  if (!is_control(frame_.opcode)) return frame_.is_final ? finish_message(event) : true;
  const ByteView payload = ByteView(control_).first(static_cast<std::size_t>(frame_.length));
  if (frame_.opcode == WebSocketOpcode::Close) return finish_close(payload, event);
  event.kind = frame_.opcode == WebSocketOpcode::Ping ? WebSocketEvent::Kind::Ping
                                                      : WebSocketEvent::Kind::Pong;
  event.payload = payload;
  return true;
}

bool WebSocketDecoder::finish_message(WebSocketEvent& event) {
  if (is_text_ && !utf8_.is_complete()) {
    return fail(CloseCode::InvalidText, "text message ends inside a UTF-8 character");
  }
  is_in_message_ = false;
  is_delivered_ = true;
  event.kind = is_text_ ? WebSocketEvent::Kind::Text : WebSocketEvent::Kind::Binary;
  event.payload = borrowed_.empty() ? ByteView(message_) : borrowed_;
  return true;
}

bool WebSocketDecoder::finish_close(ByteView payload, WebSocketEvent& event) {
  WebSocketClose close;
  if (payload.size() == 1) {
    return fail(CloseCode::ProtocolError, "a close frame of one byte has no whole close code");
  }
  if (payload.size() >= 2) {
    const auto number = static_cast<std::uint16_t>(static_cast<unsigned>(payload[0]) << 8 |
                                                   static_cast<unsigned>(payload[1]));
    close.code = static_cast<CloseCode>(number);
    if (!may_be_sent(close.code)) {
      return fail(CloseCode::ProtocolError,
                  "close code " + std::to_string(number) + " must not be sent");
    }
    close.reason = as_text(payload.subspan(2));
    if (!is_valid_utf8(close.reason)) {
      return fail(CloseCode::InvalidText, "the reason in a close frame is not UTF-8");
    }
  }
  has_ended_ = true;
  Bytes().swap(message_);
  event.kind = WebSocketEvent::Kind::Close;
  event.close = std::move(close);
  return true;
}

bool WebSocketDecoder::fail(CloseCode code, std::string reason) {
  failure_ = {code, std::move(reason)};
  return false;
}

void WebSocketDecoder::release_delivered() {
  if (!is_delivered_) return;
  is_delivered_ = false;
  borrowed_ = {};
  message_.clear();
  if (message_.capacity() > kept_buffer_bytes) Bytes().swap(message_);
}

}  // namespace spotmesh::wire
