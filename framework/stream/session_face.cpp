#include "stream/session_face.hpp"

#include <utility>

#include "stream/client_session.hpp"

namespace spotmesh::stream {

SessionFace::SessionFace(ClientSession& session, std::unique_ptr<objects::Caller> caller)
    : SessionContext(*caller), session_(session), caller_holder_(std::move(caller)) {}

SessionFace::~SessionFace() = default;

const SessionId& SessionFace::session_id() const { return session_.id(); }

std::string_view SessionFace::remote_address() const { return session_.remote_address(); }

Task<Result<void>> SessionFace::bind(const ActorRef& actor) { return session_.bind(actor); }

Task<Result<void>> SessionFace::unbind(const ActorId& actor) { return session_.unbind(actor); }

std::vector<ActorRef> SessionFace::bound_actors() const { return session_.bound_actors(); }

Result<void> SessionFace::send(Message message) { return session_.push(message); }

void SessionFace::close(std::string reason) {
  session_.close_at_turn_end(SessionEnding::closed_by_game(std::move(reason)));
}

}  // namespace spotmesh::stream
