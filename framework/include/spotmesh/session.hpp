// Session: the server side of one client connection.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/context.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>
#include <spotmesh/task.hpp>

namespace spotmesh {

// Why a client connection ended.
struct DisconnectReason {
  enum class Kind : std::uint8_t {
    ClientClosed,    // the client closed it
    ServerClosed,    // close() or an Actor's disconnect()
    Replaced,        // another session took the Actor
    ConnectionLost,  // it broke, or the client fell silent
    ProtocolError,   // the client broke a rule of the protocol
    SlowClient,      // the client did not read
    QuotaExceeded,   // the client sent more than it may
    Shutdown,        // the node stops
  };
  Kind kind = Kind::ConnectionLost;
  std::string text;  // for logs
};

// What a session knows about itself and may do, on its own turns. Implemented by the gateway.
class SessionContext : public Context {
 public:
  virtual const SessionId& session_id() const = 0;
  // "127.0.0.1:51234", for logs.
  virtual std::string_view remote_address() const = 0;

  // Makes this session the one of that Actor: from now on its pushes come here. Another session
  // that had it is told (on_replaced) and closed. Unavailable: nothing lives under the ref's id, or
  // its node is away; InvalidOperation: another incarnation lives there; CapacityExceeded: this
  // session has limits::stream_bound_actors already.
  virtual Task<Result<void>> bind(const ActorRef& actor) = 0;
  // Ends the binding; the Actor lives on and no callback runs. NotFound when it is not bound here.
  virtual Task<Result<void>> unbind(const ActorId& actor) = 0;
  // The Actors bound to this session, in the order they were bound.
  virtual std::vector<ActorRef> bound_actors() const = 0;

  // Pushes a packet to this client; it leaves when the turn ends or waits. Unavailable when the
  // connection has ended.
  template <Packet P>
  Result<void> send(const P& packet) {
    return send(Message::of(packet));
  }
  virtual Result<void> send(Message message) = 0;
  // Sends what is queued, then closes the connection with this reason.
  virtual void close(std::string reason) = 0;

 protected:
  using Context::Context;
  ~SessionContext() = default;
};

// Derive, inherit the constructor and register the class with Application::stream. One instance per
// connection, on the node that accepted it; its handlers and callbacks run one at a time, in the
// order in which the client sent. Handlers are declared in
// `static void handlers(SessionHandlers<Self>& on)`; a packet without one goes to the bound Actor
// if there is exactly one. A throw is logged and counted.
class Session {
 public:
  explicit Session(SessionContext& context) : context_(&context) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  virtual ~Session() = default;

  SessionContext& context() const { return *context_; }

  // Before the first packet.
  virtual Task<void> on_connect();
  // The last callback, once.
  virtual Task<void> on_disconnect(const DisconnectReason& reason);
  // A packet of this client could not be handled: it has no handler, does not decode, or its
  // one-way handler failed.
  virtual Task<void> on_error(const Error& error);
  // Another session has taken this Actor. A notice sent here still arrives; the connection closes
  // 100 ms after this callback has ended.
  virtual Task<void> on_replaced(const ActorRef& actor);
  // An Actor that was bound here is gone, and the binding with it: it has been destroyed, its node
  // has died, or its node has stepped down from it. The connection stays; whether the client is
  // told and goes on without the Actor, or is closed and comes again, is the game's to say.
  virtual Task<void> on_actor_gone(const ActorRef& actor);

 private:
  SessionContext* context_;
};

}  // namespace spotmesh
