// The Actors' side of client sessions, for the gateway's own unit tests alone. It keeps to the
// contract of objects::Bindings with Actors that are nothing but a queue.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>
#include <spotmesh/message.hpp>

#include "objects/session_routes.hpp"
#include "testing/sim_world.hpp"

namespace spotmesh::testing {

class BindingDouble final : public objects::Bindings {
 public:
  struct Received {
    Message message;
    std::optional<Instant> deadline;
    std::function<void(Result<Message>)> reply;
  };
  struct ActorDouble {
    ActorRef ref;
    std::optional<objects::BindingIdentity> binding;
    std::deque<Received> queue;
    std::size_t capacity = 1000;
    int disconnects = 0;  // how often on_disconnect_actor would have run
  };

  explicit BindingDouble(SimWorld& world) : world_(world) {}

  // Before the first bind.
  void set_routes(objects::SessionRoutes& routes) { routes_ = &routes; }
  // How long bind and unbind take.
  void set_latency(Duration latency) { latency_ = latency; }

  ActorDouble& add(const std::string& id, std::uint64_t generation = 1) {
    ActorDouble& actor =
        actors_.try_emplace(id, ActorDouble{.ref = ref_of(id, generation)}).first->second;
    return actor;
  }
  ActorDouble& actor(const std::string& id) { return actors_.at(id); }
  static ActorRef ref_of(const std::string& id, std::uint64_t generation = 1) {
    return {*ActorId::parse(id), {generation}, "play", {"node-1"}};
  }
  void destroy(const std::string& id) {
    auto gone = actors_.extract(id);
    if (gone.mapped().binding) {
      routes_->on_actor_gone(*gone.mapped().binding, gone.mapped().ref.actor_id);
    }
  }
  // What BoundSession::send does.
  Result<void> push(const std::string& id, const Message& message) {
    const ActorDouble& actor = actors_.at(id);
    if (!actor.binding) return fail(Error::invalid_operation("no session is bound"));
    return routes_->push(*actor.binding, message);
  }
  // What BoundSession::disconnect does.
  void disconnect(const std::string& id, std::string reason) {
    routes_->disconnect(*actors_.at(id).binding, std::move(reason));
  }

  void bind(const ActorRef& actor, objects::BindingIdentity binding,
            std::function<void(Result<void>)> done) override {
    world_.after(latency_, [this, actor, binding = std::move(binding), done = std::move(done)] {
      done(bind_now(actor, binding));
    });
  }
  void unbind(const ActorId& actor, objects::BindingIdentity binding,
              std::function<void(Result<void>)> done) override {
    world_.after(latency_, [this, actor, binding = std::move(binding), done = std::move(done)] {
      const auto found = actors_.find(actor.text());
      if (found != actors_.end() && found->second.binding == binding) found->second.binding.reset();
      done({});
    });
  }
  void session_ended(const ActorId& actor, objects::BindingIdentity binding) override {
    const auto found = actors_.find(actor.text());
    if (found == actors_.end() || found->second.binding != binding) return;
    found->second.binding.reset();
    ++found->second.disconnects;
  }
  Result<void> relay(const ActorId& actor, const objects::BindingIdentity& binding,
                     Message&& message, std::optional<Instant> deadline,
                     const std::shared_ptr<objects::ReplyFunction>& reply) override {
    const auto found = actors_.find(actor.text());
    if (found == actors_.end()) return fail(Error::unavailable("the Actor is gone"));
    ActorDouble& its = found->second;
    if (its.binding != binding) return fail(Error::invalid_operation("the binding is stale"));
    if (its.queue.size() >= its.capacity) {
      ++refused_relays;
      return fail(Error::capacity_exceeded("the Actor's mailbox is full"));
    }
    its.queue.push_back({std::move(message), deadline, function_of(reply)});
    return {};
  }

  int refused_relays = 0;

 private:
  Result<void> bind_now(const ActorRef& actor, const objects::BindingIdentity& binding) {
    const auto found = actors_.find(actor.actor_id.text());
    if (found == actors_.end()) {
      return fail(Error::unavailable("no Actor '" + actor.actor_id.text() + "' lives"));
    }
    ActorDouble& its = found->second;
    if (its.ref.object_generation != actor.object_generation) {
      return fail(Error::invalid_operation("another incarnation lives there"));
    }
    const auto old = std::exchange(its.binding, binding);
    if (old && old != binding) routes_->on_replaced(*old, its.ref);
    return {};
  }

  // An Actor of a test that does not answer has not ended.
  static std::function<void(Result<Message>)> function_of(
      const std::shared_ptr<objects::ReplyFunction>& reply) {
    if (reply == nullptr) return {};
    const std::shared_ptr<objects::ReplyFunction> silent(
        reply.get(), [reply](objects::ReplyFunction* ended) { ended->disarm(); });
    return [silent](Result<Message> outcome) { silent->call(std::move(outcome)); };
  }

  SimWorld& world_;
  objects::SessionRoutes* routes_ = nullptr;
  Duration latency_{};
  std::map<std::string, ActorDouble> actors_;
};

}  // namespace spotmesh::testing
