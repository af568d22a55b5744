// StreamServer: a STREAM gateway on one node.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>

#include "objects/page.hpp"
#include "objects/session_routes.hpp"
#include "stream/client_links.hpp"
#include "stream/gateway.hpp"
#include "stream/session_row.hpp"

namespace spotmesh::stream {

// Takes links and makes sessions of them, and carries what Actors say to the sessions that they are
// bound to. Every function is safe from any thread.
//
// Life: construct; give it to ClientLinks::listen as the acceptor and to the objects side as its
// SessionRoutes; stop() and wait for `stopped`, or abandon(); destroy, once no link calls it any
// more. The objects side stops after it, so that disconnect callbacks still reach the Spots.
class StreamServer final : public LinkAcceptor, public objects::SessionRoutes {
 public:
  // `application` and `type`, which is one of its streams, outlive it and every session. Throws
  // ConfigurationError when a session handler's packet is in no schema that the application names.
  StreamServer(const objects::FrozenApplication& application, const objects::StreamType& type,
               objects::NodeIdentity identity, const StreamSeams& seams, MakeCaller make_caller,
               const StreamOptions& options = {});
  ~StreamServer() override;

  // Beyond the bound of sessions, or of connections from one address, a link is taken, told 4006
  // and closed, so that a browser can show why. ShuttingDown after stop(); CapacityExceeded when
  // too many are being told.
  Result<std::shared_ptr<ClientLinkHandler>> on_link(ClientLink& link,
                                                     const LinkInfo& info) override;

  Result<void> push(const objects::BindingIdentity& binding, const Message& message) override;
  void disconnect(const objects::BindingIdentity& binding, std::string reason) override;
  void on_replaced(const objects::BindingIdentity& old_binding, const ActorRef& actor) override;
  void on_actor_gone(const objects::BindingIdentity& binding, const ActorId& actor) override;

  // Takes no more links and closes every session, and every link that has none yet, with 1001 and
  // this reason. `stopped` is called
  // once: when every disconnect callback has ended and every link is closed. May be called again.
  void stop(const std::string& reason, std::function<void()> stopped);
  // Cuts every link and ends every session without a callback: a crash, or an end that does not
  // wait. `stopped` of an earlier stop() is called.
  void abandon();

  // A page of the sessions, by their id; of `wanted`, the type is the gateway's name and the mesh
  // that of a bound Actor. Answered as those of objects::Inspection.
  void inspect(objects::PageWanted wanted,
               std::function<void(objects::Page<SessionRow>)> done) const;
  std::size_t session_count() const { return gateway_->sessions.size(); }
  const StreamMetrics& metrics() const { return gateway_->metrics; }

 private:
  class SessionLink;
  class HandshakeLink;
  class RefusedLink;

  // Null when the binding names no living session of this run of the node.
  SessionDirectory::SessionRef session_of(const objects::BindingIdentity& binding) const;
  // Tells the client why, and closes; CapacityExceeded when too many are being told.
  Result<std::shared_ptr<ClientLinkHandler>> turn_away(ClientLink& link,
                                                       const SessionProtocol& protocol,
                                                       const wire::WebSocketClose& close);

  const std::shared_ptr<Gateway> gateway_;
  const std::shared_ptr<std::atomic<std::size_t>> refused_links_;  // being told so
};

}  // namespace spotmesh::stream
