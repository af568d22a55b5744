// ClientSession: its bindings.
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/pool.hpp"
#include "objects/reply_function.hpp"
#include "stream/client_session.hpp"

namespace spotmesh::stream {

using objects::BindingIdentity;
using runtime::Lane;
using runtime::Ref;

// The reply of a bound Actor, for the client.
class ClientSession::SessionReply final : public objects::ReplyFunction {
 public:
  SessionReply(ClientSession& session, const RequestKey& request)
      : session_(&session), request_(request) {}
  ~SessionReply() override { end_unanswered(); }

 private:
  void answer(Result<Message> outcome) override { session_->answer(request_, outcome); }

  const Ref<ClientSession> session_;
  const RequestKey request_;
};

Result<void> ClientSession::require_own_turn(std::string_view what, const ActorId& actor) const {
  const runtime::Turn* turn = runtime::Turn::current();
  if (turn != nullptr && &turn->gate() == gate_.get()) return {};
  return fail(Error::invalid_operation(fmt::format(
      "{} of Actor '{}' was called outside the turns of its session", what, actor.text())));
}

Task<Result<void>> ClientSession::bind(ActorRef actor) {
  if (auto own = require_own_turn("bind", actor.actor_id); !own) co_return own;
  if (bound_.has(actor)) co_return Result<void>();
  const BindingIdentity identity = gateway_->next_binding(id_);
  if (auto begun = bound_.begin(actor, identity); !begun) co_return begun;
  const auto answer = runtime::make_completion<Result<void>>();
  gateway_->seams.bindings.bind(
      actor, identity,
      [self = Ref(this), identity, id = actor.actor_id, answer](Result<void> result) {
        self->on_bound(identity, id, result);
        answer->complete(std::move(result));
      });
  co_return co_await answer->wait();
}

// The binding holds from here on, whatever the handler that waits for it does.
void ClientSession::on_bound(const BindingIdentity& identity, const ActorId& actor,
                             const Result<void>& result) {
  if (bound_.finish(identity.generation, result.has_value())) return;
  gateway_->seams.bindings.session_ended(actor, identity);
}

Task<Result<void>> ClientSession::unbind(ActorId actor) {
  if (auto own = require_own_turn("unbind", actor); !own) co_return own;
  const BindingHandle binding = bound_.find(actor);
  if (binding == nullptr || !bound_.remove(binding->identity.generation)) {
    co_return fail(
        Error::not_found(fmt::format("Actor '{}' is not bound to this session", actor.text())));
  }
  const auto answer = runtime::make_completion<Result<void>>();
  gateway_->seams.bindings.unbind(
      actor, binding->identity,
      [self = Ref(this), answer](Result<void> result) { answer->complete(std::move(result)); });
  co_return co_await answer->wait();
}

void ClientSession::end_bindings() {
  for (const BindingHandle& binding : bound_.end()) {
    gateway_->seams.bindings.session_ended(binding->actor.actor_id, binding->identity);
  }
}

Result<void> ClientSession::relay(const Binding& binding, Message& message,
                                  const RequestKey& request, std::optional<Instant> deadline) {
  std::shared_ptr<objects::ReplyFunction> reply;
  if (!request.is_one_way()) {
    reply = std::allocate_shared<SessionReply>(PoolAllocator<SessionReply>(), *this, request);
  }
  auto relayed = gateway_->seams.bindings.relay(binding.actor.actor_id, binding.identity,
                                                std::move(message), deadline, reply);
  if (!relayed && reply != nullptr) reply->disarm();
  return relayed;
}

bool ClientSession::relay_at_once(Message& message, const RequestKey& request,
                                  std::optional<Instant> deadline) {
  if (bound_.is_unused() || packets_.waiting() != 0 || drops_what_waits()) return false;
  if (!mailbox_.is_idle()) return false;
  using registration::MessageKind;
  const auto kind = request.is_one_way() ? MessageKind::Send : MessageKind::Request;
  const auto& handlers = gateway_->type.handlers;
  const PacketId packet = message.descriptor()->id;
  if (handlers.find(registration::Receiver::Session, kind, packet) != nullptr) return false;
  const BindingHandle binding = bound_.only_one();
  if (binding == nullptr || binding->actor.node_rid != gateway_->identity.rid) return false;
  if (!relay(*binding, message, request, deadline)) return false;
  gateway_->metrics.relayed.add();
  return true;
}

Result<void> ClientSession::push(const BindingIdentity& binding, const Message& message) {
  if (bound_.has(binding.generation)) return push(message);
  gateway_->metrics.stale_bindings.add();
  return fail(Error::unavailable("the client's session does not have this binding any more"));
}

void ClientSession::disconnect(const BindingIdentity& binding, std::string reason) {
  if (!bound_.has(binding.generation)) return gateway_->metrics.stale_bindings.add();
  if (reason.empty()) reason = "the game ended the session";
  close_at_turn_end(SessionEnding::closed_by_game(std::move(reason)));
}

void ClientSession::on_actor_gone(const BindingIdentity& binding) {
  const BindingHandle gone = bound_.remove(binding.generation);
  if (gone == nullptr) return gateway_->metrics.stale_bindings.add();
  push_callback(
      Lane::Control, "on_actor_gone",
      [this, actor = gone->actor]() -> Task<void> {
        if (object_ == nullptr) return {};
        return object_->on_actor_gone(actor);
      },
      [] {});
}

// One that this session has bound anew, or given up, meanwhile is not there any more.
void ClientSession::on_replaced(const BindingIdentity& binding, const ActorRef& actor) {
  if (!bound_.remove(binding.generation)) return gateway_->metrics.stale_bindings.add();
  {
    std::lock_guard lock(mutex_);
    if (!life_.is_live()) return;
    if (life_.replace()) {
      replaced_reason_ =
          fmt::format("Actor '{}' was taken over by another session", actor.actor_id.text());
    }
  }
  push_callback(
      Lane::Control, "on_replaced",
      [this, actor]() -> Task<void> {
        if (object_ == nullptr) return {};
        return object_->on_replaced(actor);
      },
      [this] { begin_replaced_delay(); });
}

// The first callback that ends starts the delay; a notice sent in it has time to arrive.
void ClientSession::begin_replaced_delay() {
  std::lock_guard lock(mutex_);
  if (replaced_close_at_.has_value()) return;
  replaced_close_at_ = gateway_->seams.clock.now() + gateway_->options.replaced_close_delay;
  arm_locked(*replaced_close_at_);
}

}  // namespace spotmesh::stream
