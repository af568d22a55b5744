// BindingTable: which session each Actor of this node is bound to.
#pragma once

#include <functional>
#include <optional>

#include "objects/actor_cell.hpp"
#include "objects/session_routes.hpp"

namespace spotmesh::objects {

class Core;

class BindingTable final : public Bindings {
 public:
  explicit BindingTable(Core& core) : core_(core) {}

  void bind(const ActorRef& actor, BindingIdentity binding,
            std::function<void(Result<void>)> done) override;
  void unbind(const ActorId& actor, BindingIdentity binding,
              std::function<void(Result<void>)> done) override;
  void session_ended(const ActorId& actor, BindingIdentity binding) override;
  Result<void> relay(const ActorId& actor, const BindingIdentity& binding, Message message,
                     std::optional<Instant> deadline,
                     std::function<void(Result<Message>)> reply) override;

 private:
  Result<void> bind_local(ActorCell& actor, const ActorRef& ref, BindingIdentity binding);
  void bind_elsewhere(const ActorRef& ref, std::function<void(Result<void>)> done);
  void end_session(const runtime::Ref<ActorCell>& actor, const BindingIdentity& binding);
  void run_disconnect(const runtime::Ref<ActorCell>& actor);

  Core& core_;
};

}  // namespace spotmesh::objects
