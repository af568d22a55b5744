// One attempt to reach another node. Inside this module only: it shows Asio.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include <spotmesh/error.hpp>

#include "mesh/transport.hpp"
#include "net/asio_mesh_transport.hpp"
#include "net/client_link.hpp"
#include "net/connections.hpp"
#include "net/host_and_port.hpp"
#include "net/worker.hpp"

namespace spotmesh::net {

// Looks the host up and tries its addresses one after another, within the time that a dial may
// take.
class MeshDial final : public Connection, public std::enable_shared_from_this<MeshDial> {
 public:
  MeshDial(Worker& worker, std::shared_ptr<Connections> connections,
           const MeshTransportOptions& options, std::string address, mesh::DialHandler& handler);

  // Once; the handler is told how it went, on the worker.
  void begin();
  void abort_connection() override;

 private:
  boost::asio::awaitable<void> run();
  boost::asio::awaitable<boost::system::error_code> connect(HostAndPort where);
  boost::asio::awaitable<boost::system::error_code> try_endpoint(
      boost::asio::ip::tcp::endpoint endpoint);
  void become_connection();
  // At once, though a look-up that is under way cannot be stopped.
  void fail_with(const std::string& reason);

  Worker& worker_;
  const std::shared_ptr<Connections> connections_;
  const MeshTransportOptions options_;
  const std::string address_;
  mesh::DialHandler& handler_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer deadline_;
  bool is_over_ = false;
};

// Of a link between nodes.
AsioClientLink::Limits limits_of(const MeshTransportOptions& options);

}  // namespace spotmesh::net
