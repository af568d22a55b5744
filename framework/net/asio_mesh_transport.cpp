#include "net/asio_mesh_transport.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "net/call_gate.hpp"
#include "net/connections.hpp"
#include "net/host_and_port.hpp"
#include "net/listener.hpp"
#include "net/mesh_connection.hpp"
#include "net/mesh_dial.hpp"
#include "net/worker.hpp"

namespace spotmesh::net {
namespace {

using boost::asio::ip::tcp;

// What the sockets of one listener have in common.
struct Accepting {
  Accepting(mesh::ConnectionAcceptor& to, std::shared_ptr<Connections> all,
            const MeshTransportOptions& chosen)
      : acceptor(to), connections(std::move(all)), options(chosen) {}

  CallGate gate;
  mesh::ConnectionAcceptor& acceptor;
  const std::shared_ptr<Connections> connections;
  const MeshTransportOptions options;
};

// On the worker.
void become_connection(Worker& worker, Accepting& accepting, tcp::socket socket) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const auto link =
      std::make_shared<AsioClientLink>(worker, accepting.connections, limits_of(accepting.options));
  const auto connection = std::make_shared<MeshConnection>(link);
  if (!accepting.gate.enter()) return;
  connection->set_handler(accepting.acceptor.on_accept(*connection));
  // Within the call: once nobody is inside, close() finds the connection among the others.
  if (!accepting.connections->add_link(link)) link->abort();
  accepting.gate.leave();
  link->start(std::move(socket), {}, {}, connection);
}

}  // namespace

class AsioMeshTransport::State {
 public:
  State(WorkerPool& pool, LogSink& log, MeshTransportOptions options)
      : pool_(pool), log_(log), options_(options) {}

  Result<std::string> listen(const std::string& address, mesh::ConnectionAcceptor& acceptor) {
    const auto where = parse_host_and_port(address);
    if (!where) {
      return fail(Error::invalid_operation(
          fmt::format("'{}' is no address to listen on; it would be HOST:PORT", address)));
    }
    const auto accepting = std::make_shared<Accepting>(acceptor, connections_, options_);
    const auto on_socket = [accepting](Worker& worker, tcp::socket socket) {
      worker.post([&worker, accepting, socket = std::move(socket)]() mutable {
        become_connection(worker, *accepting, std::move(socket));
      });
    };
    auto listener = std::make_shared<Listener>(
        pool_,
        ListenerOptions{.where = *where, .who = "node", .accept_pause = options_.accept_pause},
        log_, on_socket);
    const auto port = listener->open();
    if (!port) return fail(port.error());
    std::lock_guard lock(mutex_);
    listener_ = std::move(listener);
    accepting_ = accepting;
    return to_string(HostAndPort{where->host, *port});
  }

  void stop_listening() {
    std::shared_ptr<Listener> listener;
    std::shared_ptr<Accepting> accepting;
    {
      std::lock_guard lock(mutex_);
      listener = std::exchange(listener_, nullptr);
      accepting = std::exchange(accepting_, nullptr);
    }
    if (!listener) return;
    accepting->gate.close();
    listener->close();
  }

  void dial(const std::string& address, mesh::DialHandler& handler) {
    Worker& worker = pool_.worker(next_worker_++ % pool_.thread_count());
    const auto dial = std::make_shared<MeshDial>(worker, connections_, options_, address, handler);
    if (!connections_->add_link(dial)) {
      return worker.post([&handler] {
        handler.on_dial_failed(Error::unavailable("this node's connections have been closed"));
      });
    }
    dial->begin();
  }

  void close() {
    stop_listening();
    connections_->abort_all();
  }

  void reset_connections() { connections_->abort_present(); }

  std::size_t connections() const { return connections_->count(); }

 private:
  WorkerPool& pool_;
  LogSink& log_;
  const MeshTransportOptions options_;
  // Strangers are bounded by the mesh itself.
  const std::shared_ptr<Connections> connections_ = std::make_shared<Connections>(1, [] {});
  std::atomic<unsigned> next_worker_{0};
  std::mutex mutex_;  // guards the following
  std::shared_ptr<Listener> listener_;
  std::shared_ptr<Accepting> accepting_;
};

AsioMeshTransport::AsioMeshTransport(WorkerPool& pool, LogSink& log, MeshTransportOptions options)
    : state_(std::make_unique<State>(pool, log, options)) {}

AsioMeshTransport::~AsioMeshTransport() { close(); }

Result<std::string> AsioMeshTransport::listen(std::string address,
                                              mesh::ConnectionAcceptor& acceptor) {
  return state_->listen(address, acceptor);
}

void AsioMeshTransport::stop_listening() { state_->stop_listening(); }

void AsioMeshTransport::dial(std::string address, mesh::DialHandler& handler) {
  state_->dial(address, handler);
}

void AsioMeshTransport::close() { state_->close(); }

void AsioMeshTransport::reset_connections() { state_->reset_connections(); }

std::size_t AsioMeshTransport::connections() const { return state_->connections(); }

}  // namespace spotmesh::net
