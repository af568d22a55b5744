// The Transport seam: batches of whole frames between nodes. Connections come and go beneath a mesh
// session.
#pragma once

#include <string>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

namespace spotmesh::mesh {

// One open connection to a peer. Frames arrive whole and in order, or the connection goes down;
// what was under way when it went down has an unknown fate.
class Connection {
 public:
  virtual ~Connection() = default;
  // Queues one batch; frames of one connection are never reordered. After on_down() it does
  // nothing.
  virtual void send(std::vector<SharedBytes> frames) = 0;
  // Asks for an orderly end; on_down() follows.
  virtual void close(std::string reason) = 0;
};

// Receives what happens on connections. Calls for one connection come one at a time, from any
// thread, never inside a call of Connection or Transport, and while the caller holds no lock that
// these take.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  virtual void on_frames(Connection& connection, std::vector<SharedBytes> frames) = 0;
  // The last call for this connection; the Connection object ends when it returns.
  virtual void on_down(Connection& connection, std::string reason) = 0;
};

// Gives out a handler for each connection that a peer opens.
class ConnectionAcceptor {
 public:
  virtual ~ConnectionAcceptor() = default;
  virtual ConnectionHandler& on_accept(Connection& connection) = 0;
};

class DialHandler : public ConnectionHandler {
 public:
  virtual void on_up(Connection& connection) = 0;
  virtual void on_dial_failed(Error error) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Starts to accept on `address` ("host:port"). InvalidOperation when it does not parse,
  // Unavailable when it cannot be bound; the value is the address that is really bound.
  virtual Result<std::string> listen(std::string address, ConnectionAcceptor& acceptor) = 0;
  // No connection is accepted any more. Once it has returned, on_accept() is not running and will
  // not run again.
  virtual void stop_listening() = 0;
  // Exactly one of on_up and on_dial_failed (Unavailable) follows. After the latter the handler is
  // not touched any more, once the call has returned.
  virtual void dial(std::string address, DialHandler& handler) = 0;
};

}  // namespace spotmesh::mesh
