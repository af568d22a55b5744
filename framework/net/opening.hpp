// A connection before it is a link. Inside this module only: it shows Asio.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "net/serving.hpp"
#include "net/worker.hpp"

namespace spotmesh::net {

// Reads HTTP requests from a new connection on `worker`, answers those for files, and lets one for
// the WebSocket path become a link. Where there is no HTTP, the connection is a link at once. The
// socket belongs to the worker's event loop.
void begin_opening(Worker& worker, std::shared_ptr<Serving> serving,
                   boost::asio::ip::tcp::socket socket);

}  // namespace spotmesh::net
