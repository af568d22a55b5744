// The ClientLinks seam: accepted client connections as bytes in, batches out. A link begins after
// the transport's own opening (for WebSocket: the HTTP upgrade); framing and everything above it is
// the stream module's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>

namespace spotmesh::stream {

// What is known of a connection when it is accepted.
struct LinkInfo {
  enum class Framing { WebSocket, LengthPrefixed };
  Framing framing = Framing::WebSocket;
  // Of a WebSocket: what was chosen in the upgrade, "spotmesh.v1.json", and "/stream".
  std::string subprotocol;
  std::string path;
  std::string remote_address;  // "127.0.0.1:51234", for logs
  // By which connections are counted: the address without its port, "127.0.0.1"; of IPv6 the
  // network that a host can choose its addresses in, "2001:db8:1:2::/64". Empty: not known.
  std::string remote_host;
};

// The sending half, owned by the ClientLinks implementation and alive until on_closed() has
// returned. Every function is safe from any thread and does nothing once the link is closed.
class ClientLink {
 public:
  virtual ~ClientLink() = default;
  // Queues `batch`, taking it out of where it lies, and writes it with as few system calls as
  // possible. Nothing is dropped: the caller bounds what is unsent by unsent_bytes() and closes a
  // client that does not read.
  virtual void send_batch(std::span<SharedBytes> batch) = 0;
  void send(std::vector<SharedBytes> batch) { send_batch(batch); }
  // Bytes given to send() that the operating system has not taken yet.
  virtual std::size_t unsent_bytes() const = 0;
  // Stops and resumes reading; at most one read that was under way is still delivered after
  // pause().
  virtual void pause_reading() = 0;
  virtual void resume_reading() = 0;
  // Writes what is queued (for a bounded time), then closes. on_closed() follows exactly once.
  virtual void close_after_flush() = 0;
  // Closes at once; what is queued is dropped. on_closed() follows exactly once.
  virtual void abort() = 0;
};

// What more than this waits for is a backlog: on_drained() tells of its end.
inline constexpr std::size_t link_backlog_bytes = 64 * 1024;

// The receiving half, implemented by the stream module. Calls for one link come one at a time, on
// any thread.
class ClientLinkHandler {
 public:
  virtual ~ClientLinkHandler() = default;
  // `bytes` are valid during the call only.
  virtual void on_bytes(ByteView bytes) = 0;
  // More than link_backlog_bytes stood unsent, and do not any more.
  virtual void on_drained() = 0;
  // The last call. `reason` is for logs ("closed by peer", "connection reset").
  virtual void on_closed(std::string_view reason) = 0;
};

class LinkAcceptor {
 public:
  virtual ~LinkAcceptor() = default;
  // The handler for a new link, or an Error (CapacityExceeded, ShuttingDown) that the client is
  // told before the connection ends, where the opening has words for it. `link` may be used from
  // within the call on. The handler is released after on_closed().
  virtual Result<std::shared_ptr<ClientLinkHandler>> on_link(ClientLink& link,
                                                             const LinkInfo& info) = 0;
};

struct ListenOptions {
  // LengthPrefixed: every connection is a link at once. What is below the port is for WebSocket.
  LinkInfo::Framing framing = LinkInfo::Framing::WebSocket;
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free port
  std::string path =
      "/stream";  // the WebSocket path; any other path is looked up in static_directory
  std::vector<std::string> subprotocols = {"spotmesh.v1", "spotmesh.v1.json"};
  std::string static_directory;              // files served to GET; empty: none
  std::vector<std::string> allowed_origins;  // empty: any
};

class ClientLinks {
 public:
  virtual ~ClientLinks() = default;
  // Binds and starts to accept. May be called once for each framing. The value is the port that is
  // bound. Unavailable when the address cannot be bound; the message names it.
  virtual Result<std::uint16_t> listen(const ListenOptions& options, LinkAcceptor& acceptor) = 0;
  // Ends accepting; live links stay.
  virtual void stop_listening() = 0;
};

}  // namespace spotmesh::stream
