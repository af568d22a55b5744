// The production ClientLinks: HTTP and WebSocket openings over TCP.
#pragma once

#include <cstddef>
#include <memory>

#include <spotmesh/limits.hpp>
#include <spotmesh/time.hpp>

#include "base/log.hpp"
#include "runtime/workers.hpp"
#include "stream/client_links.hpp"

namespace spotmesh::net {

class WorkerPool;

struct ClientLinksOptions {
  // From the connection, or the last response on it, to a whole request head.
  Duration opening_time = limits::stream_handshake_timeout;
  std::size_t request_head_bytes = 8 * 1024;
  // Connections that are no links yet; one more pushes out the oldest.
  std::size_t openings_at_once = 1024;
  Duration response_time = std::chrono::seconds(60);  // to take a whole file
  std::size_t static_file_bytes = 64 * limits::mebibyte;
  Duration flush_time = std::chrono::seconds(5);           // close_after_flush() gives up after it
  Duration linger_time = std::chrono::seconds(2);          // for the client to close after us
  Duration accept_pause = std::chrono::milliseconds(100);  // while the system has no descriptors
};

// Listens on TCP. Requests for the WebSocket path become links; GET and HEAD of other paths are
// answered with files. Requests are read one after another on a connection, bounded in bytes and
// time. A link's handler is called on one worker of the pool, its output is written by whichever
// worker has it, at the end of its batch.
class AsioClientLinks final : public stream::ClientLinks {
 public:
  // All three outlive this object; the pool runs until close() has returned. Files are opened on
  // the Io workers.
  AsioClientLinks(WorkerPool& pool, runtime::Workers& workers, LogSink& log,
                  ClientLinksOptions options = {});
  ~AsioClientLinks() override;  // close()

  // May be called for several addresses. `acceptor` is called from any worker until
  // stop_listening() has returned.
  Result<std::uint16_t> listen(const stream::ListenOptions& options,
                               stream::LinkAcceptor& acceptor) override;
  // When it has returned, no on_link() runs or will; not to be called from on_link(). Connections
  // that are still asking for a link are told ShuttingDown.
  void stop_listening() override;

  // Stops listening, aborts everything that is open and waits until every on_closed() has returned.
  // Not to be called from a worker.
  void close();

  // Links and connections that may become one.
  std::size_t connections() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace spotmesh::net
