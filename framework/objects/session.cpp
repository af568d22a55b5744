#include <spotmesh/session.hpp>

namespace spotmesh {

Task<void> Session::on_connect() { co_return; }
Task<void> Session::on_disconnect(const DisconnectReason&) { co_return; }
Task<void> Session::on_error(const Error&) { co_return; }
Task<void> Session::on_replaced(const ActorRef&) { co_return; }
Task<void> Session::on_actor_gone(const ActorRef&) { co_return; }

}  // namespace spotmesh
