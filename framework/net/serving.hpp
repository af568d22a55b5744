// What all connections of one listener share.
#pragma once

#include <memory>

#include "net/asio_client_links.hpp"
#include "net/call_gate.hpp"
#include "net/connections.hpp"
#include "net/static_files.hpp"
#include "stream/client_links.hpp"

namespace spotmesh::net {

// The way to the LinkAcceptor, which can be shut for good. Safe from any thread.
class AcceptorGate {
 public:
  explicit AcceptorGate(stream::LinkAcceptor& acceptor) : acceptor_(acceptor) {}

  Result<std::shared_ptr<stream::ClientLinkHandler>> admit(stream::ClientLink& link,
                                                           const stream::LinkInfo& info);
  // Waits until no call is under way.
  void close() { gate_.close(); }

 private:
  CallGate gate_;
  stream::LinkAcceptor& acceptor_;
};

struct Serving {
  Serving(const stream::ListenOptions& listen_options, const ClientLinksOptions& limits,
          stream::LinkAcceptor& acceptor, std::shared_ptr<Connections> open_connections,
          runtime::Workers& io_workers, LogSink& log_sink)
      : listen(listen_options),
        options(limits),
        files(listen_options.static_directory, limits.static_file_bytes),
        gate(acceptor),
        connections(std::move(open_connections)),
        workers(io_workers),
        log(log_sink) {}

  const stream::ListenOptions listen;
  const ClientLinksOptions options;
  const StaticFiles files;
  AcceptorGate gate;
  const std::shared_ptr<Connections> connections;
  runtime::Workers& workers;
  LogSink& log;
};

}  // namespace spotmesh::net
