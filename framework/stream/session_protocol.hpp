// SessionProtocol: what a client connection speaks, so that sessions need not know.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>

#include "stream/client_links.hpp"
#include "stream/stream_options.hpp"
#include "wire/close_codes.hpp"
#include "wire/request_seq.hpp"

namespace spotmesh::wire {
struct CatalogPacket;
class PacketCatalog;
struct StreamWelcome;
}  // namespace spotmesh::wire

namespace spotmesh::stream {

// What a client said.
struct InboundEvent {
  enum class Kind : std::uint8_t {
    NeedMoreBytes,  // the input is used up
    Hello,          // the client has opened in order and is to be welcomed; once, before any packet
    Packet,
    Refused,  // a packet that the server does not know (NotFound) or that does not fit its schema
              // (ProtocolError, requests only); the connection goes on
    Ping,     // to be answered with the same payload
    Pong,
    Close,  // the client ends the connection in order; nothing follows
    Failed  // the client broke the protocol; to be closed with `close`; nothing follows
  };
  Kind kind = Kind::NeedMoreBytes;
  wire::RequestSeq seq;        // of Packet and Refused
  Message message;             // of Packet
  std::optional<Error> error;  // of Refused
  ByteView payload;            // of Ping; valid until the next call of next()
  wire::WebSocketClose close;  // of Close and Failed
};

// How messages look on the wire. Two connections of one encoding can share a frame.
enum class Encoding : std::uint8_t { WebSocketJson, WebSocketBinary, TcpBinary };
inline constexpr std::size_t encoding_count = 3;

// One connection's codec. next() and has_partial_message() belong to the reading side and are
// called one at a time; the rest is safe from any thread. Frames are whole and ready to be written.
class SessionProtocol {
 public:
  virtual ~SessionProtocol() = default;

  // Takes bytes from the front of `input` up to the end of the next event and returns that event.
  virtual InboundEvent next(ByteView& input) = 0;
  // A message has begun and not ended.
  virtual bool has_partial_message() const = 0;
  // Whether the client has to say Hello, and gets a Welcome, before packets go either way.
  virtual bool begins_with_hello() const { return false; }

  virtual Encoding encoding() const = 0;
  // NotConfigured: the application does not name the packet. InvalidOperation: it holds a value
  // that this encoding cannot say. CapacityExceeded: too long.
  virtual Result<SharedBytes> encode_push(const Message& message) const = 0;
  virtual Result<SharedBytes> encode_reply(wire::RequestSeq seq, const Message& message) const = 0;
  // CapacityExceeded when the frame of a push or a reply is longer than this client takes.
  virtual Result<void> check_fits(const SharedBytes& frame) const;
  virtual SharedBytes encode_error_reply(wire::RequestSeq seq, const Error& error) const = 0;
  // Empty where there is no Hello.
  virtual SharedBytes encode_welcome(const wire::StreamWelcome& welcome) const;
  virtual SharedBytes encode_ping() const = 0;
  virtual SharedBytes encode_pong(ByteView payload) const = 0;
  virtual SharedBytes encode_close(const wire::WebSocketClose& close) const = 0;
};

// The packet of a message to a client, for every encoding alike. InvalidOperation for an empty
// message, NotConfigured for a packet that the application does not name.
Result<const wire::CatalogPacket*> packet_to_client(const wire::PacketCatalog& catalog,
                                                    const Message& message);

// The protocol of a new link. NotFound for a framing or subprotocol that there is none for.
Result<std::unique_ptr<SessionProtocol>> make_protocol(const LinkInfo& info,
                                                       const wire::PacketCatalog& catalog,
                                                       const StreamOptions& options);

}  // namespace spotmesh::stream
