// RecordedSessions: the gateway's side of bindings, as a record.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "objects/session_routes.hpp"

namespace spotmesh::objects {

class RecordedSessions final : public SessionRoutes {
 public:
  Result<void> push(const BindingIdentity& binding, const Message& message) override {
    pushes.emplace_back(binding.session, message);
    return {};
  }
  void disconnect(const BindingIdentity& binding, std::string reason) override {
    disconnects.emplace_back(binding, std::move(reason));
  }
  void on_replaced(const BindingIdentity& old_binding, const ActorRef&) override {
    replaced.push_back(old_binding);
  }
  void on_actor_gone(const BindingIdentity&, const ActorId& actor) override {
    gone.push_back(actor.text());
  }

  std::vector<std::pair<SessionId, Message>> pushes;
  std::vector<std::pair<BindingIdentity, std::string>> disconnects;
  std::vector<BindingIdentity> replaced;
  std::vector<std::string> gone;
};

}  // namespace spotmesh::objects
