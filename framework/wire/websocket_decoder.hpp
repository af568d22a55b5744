// The receiving half of the WebSocket framing: bytes in, whole messages out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <spotmesh/bytes.hpp>
#include <spotmesh/limits.hpp>

#include "wire/utf8_validator.hpp"
#include "wire/websocket.hpp"

namespace spotmesh::wire {

// Which end of the connection this decoder serves. What a server receives is masked, what a client
// receives is not; anything else is a protocol error.
enum class WebSocketRole : std::uint8_t { Server, Client };

struct WebSocketDecoderOptions {
  WebSocketRole role = WebSocketRole::Server;
  // The longest message, over all its fragments.
  std::size_t max_message_bytes = limits::stream_message_bytes;
  // Empty fragments cost the sender two bytes and never fill a message, hence a bound of their own.
  std::size_t max_message_fragments = 1024;
};

// What next() found.
struct WebSocketEvent {
  enum class Kind : std::uint8_t {
    NeedMoreBytes,  // the input is used up
    Text,           // a whole text message, valid UTF-8
    Binary,         // a whole binary message
    Ping,           // to be answered by a pong with the same payload
    Pong,
    Close,   // the peer's close frame; nothing follows
    Failed,  // the peer broke the protocol; to be closed with `close`; nothing follows
  };
  Kind kind = Kind::NeedMoreBytes;
  ByteView payload;      // of Text, Binary, Ping, Pong; valid until the next call of next()
  WebSocketClose close;  // of Close: what the peer said; of Failed: what to tell it
};

// Decodes one connection. The caller pulls events, so it can stop between two messages that arrived
// together and go on later with the rest of the input. Memory grows only by bytes that have really
// arrived: a frame above the limit is refused by its header alone. Not safe from several threads.
class WebSocketDecoder {
 public:
  explicit WebSocketDecoder(WebSocketDecoderOptions options);

  // Takes bytes from the front of `input` up to the end of the next event and returns that event.
  // After Close or Failed, input is swallowed and NeedMoreBytes is returned.
  WebSocketEvent next(ByteView& input);

  // Whether a frame or a fragmented message has begun and not ended: a peer that stays so for long
  // is dribbling.
  bool has_partial_message() const;
  // What the decoder holds on the heap.
  std::size_t buffered_capacity_bytes() const { return message_.capacity(); }

 private:
  struct Frame {
    WebSocketOpcode opcode = WebSocketOpcode::Continuation;
    bool is_final = false;
    bool is_masked = false;
    std::uint64_t length = 0;
    std::uint64_t received = 0;
    MaskKey mask{};
  };

  // A data message in one frame that has come whole and leaves nothing to object to, as nearly all
  // do. False, and nothing has changed: the general way has to see to what is there.
  bool take_plain_message(ByteView& input, WebSocketEvent& event);

  // These report whether the peer has kept to the protocol; false: failure_ says how it did not.
  bool take_header(ByteView& input);
  bool take_whole_header(ByteView& input);
  bool check_header();
  bool check_first_byte();
  bool check_second_byte();
  bool read_length();
  bool begin_frame();
  bool take_payload(ByteView& input);
  bool take_data(ByteView arrived, std::size_t offset);
  bool finish_frame(WebSocketEvent& event);
  bool finish_message(WebSocketEvent& event);
  bool finish_close(ByteView payload, WebSocketEvent& event);
  bool fail(CloseCode code, std::string reason);
  std::size_t wanted_header_bytes() const;
  void release_delivered();

  WebSocketDecoderOptions options_;
  std::array<std::uint8_t, max_frame_header_bytes> header_{};
  std::size_t header_size_ = 0;
  bool is_in_payload_ = false;
  Frame frame_;
  std::array<std::byte, max_control_payload_bytes> control_{};

  // The data message under way.
  bool is_in_message_ = false;
  bool is_text_ = false;
  std::size_t fragments_ = 0;
  Bytes message_;
  ByteView borrowed_;  // a message that lies unmasked and whole in the input
  Utf8Validator utf8_;

  bool is_delivered_ = false;  // message_ was handed out and goes with the next call
  bool has_ended_ = false;
  WebSocketClose failure_;
};

}  // namespace spotmesh::wire
