// BindingTable: binds client sessions and Actors, wherever either lives.
#pragma once

#include <functional>
#include <optional>

#include "location/find.hpp"
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
  Result<void> relay(const ActorId& actor, const BindingIdentity& binding, Message&& message,
                     std::optional<Instant> deadline,
                     const std::shared_ptr<ReplyFunction>& reply) override;

  // Of an Actor of this node, whichever node the session lives on. Strand only, as the next.
  Result<void> bind_here(const ActorRef& ref, const BindingIdentity& binding);
  // The session has given the Actor up or, when it has disconnected, has ended: then
  // on_disconnect_actor runs. Of a stale binding nothing comes.
  void end_here(const runtime::Ref<ActorCell>& actor, const BindingIdentity& binding,
                bool has_disconnected);

 private:
  Result<void> bind_local(ActorCell& actor, const ActorRef& ref, const BindingIdentity& binding);
  void bind_elsewhere(const ActorRef& ref, const BindingIdentity& binding,
                      std::function<void(Result<void>)> done);
  void bind_at(const location::FindOutcome& found, const ActorRef& ref,
               const BindingIdentity& binding, Instant deadline,
               std::function<void(Result<void>)> done);
  void run_disconnect(const runtime::Ref<ActorCell>& actor);

  Core& core_;
};

}  // namespace spotmesh::objects
