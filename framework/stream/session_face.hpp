// SessionFace: the SessionContext that a game's Session sees.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/session.hpp>

#include "objects/caller.hpp"

namespace spotmesh::stream {

class ClientSession;

class SessionFace final : public SessionContext {
 public:
  SessionFace(ClientSession& session, std::unique_ptr<objects::Caller> caller);
  ~SessionFace();

  const SessionId& session_id() const override;
  std::string_view remote_address() const override;
  Task<Result<void>> bind(const ActorRef& actor) override;
  Task<Result<void>> unbind(const ActorId& actor) override;
  std::vector<ActorRef> bound_actors() const override;
  using SessionContext::send;
  Result<void> send(Message message) override;
  void close(std::string reason) override;

 private:
  ClientSession& session_;
  std::unique_ptr<objects::Caller> caller_holder_;
};

}  // namespace spotmesh::stream
