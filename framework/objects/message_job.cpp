#include "objects/message_job.hpp"

#include <utility>

#include <fmt/format.h>

#include <spotmesh/limits.hpp>
#include <spotmesh/message_context.hpp>

#include "objects/actor_cell.hpp"
#include "objects/core.hpp"
#include "objects/spot_cell.hpp"
#include "objects/turn_scope.hpp"

namespace spotmesh::objects {

using registration::Receiver;

class MessageJob::HandlerScope final : public ObjectScope {
 public:
  HandlerScope(std::string_view packet, ActorCell* actor, SpotCell* spot)
      : ObjectScope(Kind::Handler, packet, actor, spot) {}

  bool has_expired = false;
  std::optional<MessageContext> context;
  registration::Invocation invocation;
};

MessageJob::MessageJob(ActorCell& actor, Message message, std::optional<Instant> deadline,
                       ReplySink reply)
    : core_(actor.core()),
      actor_(&actor),
      message_(std::move(message)),
      deadline_(deadline),
      reply_(std::move(reply)),
      is_one_way_(reply_.is_one_way()) {}

MessageJob::MessageJob(SpotCell& spot, Message message, std::optional<Instant> deadline,
                       ReplySink reply)
    : core_(spot.core()),
      spot_(&spot),
      message_(std::move(message)),
      deadline_(deadline),
      reply_(std::move(reply)),
      is_one_way_(reply_.is_one_way()) {}

MessageJob::MessageJob(SpotCell& spot, Message message, std::shared_ptr<const TopicKey> topic)
    : core_(spot.core()),
      spot_(&spot),
      message_(std::move(message)),
      is_one_way_(true),
      topic_(std::move(topic)) {}

registration::MessageKind MessageJob::kind() const {
  if (topic_ != nullptr) return registration::MessageKind::Publication;
  return is_one_way_ ? registration::MessageKind::Send : registration::MessageKind::Request;
}

std::string MessageJob::receiver_name() const {
  return actor_ != nullptr ? actor_->name() : spot_->name();
}

const registration::Handler* MessageJob::find_handler(const SpotCell* containing_spot) const {
  const PacketDescriptor* packet = message_.descriptor();
  if (packet == nullptr) return nullptr;
  if (topic_ != nullptr) {
    return spot_->type().handlers.find_subscription(topic_->topic, packet->id);
  }
  if (actor_ == nullptr) {
    return spot_->type().handlers.find(Receiver::Spot, kind(), packet->id);
  }
  const registration::ClassTag actor_class = actor_->type().model->actor_class;
  if (containing_spot != nullptr) {
    if (const auto* handler = containing_spot->type().handlers.find_for_actor(
            kind(), packet->id, actor_class, *actor_->object())) {
      return handler;
    }
  }
  return actor_->type().handlers.find_for_actor(kind(), packet->id, actor_class, *actor_->object());
}

Task<void> MessageJob::run(runtime::Turn& turn) {
  SpotCell* spot = actor_ != nullptr ? actor_->spot_in_turn() : spot_;
  auto owned = std::make_unique<HandlerScope>(message_.packet_name(), actor_, spot);
  HandlerScope& scope = *owned;
  turn.set_scope(std::move(owned));
  if (deadline_.has_value() && turn.now() >= *deadline_) {
    scope.has_expired = true;
    return {};
  }
  const registration::Handler* handler = find_handler(spot);
  if (handler == nullptr) {
    core_.metrics.no_handler.add();
    scope.invocation.error =
        Error::not_found(fmt::format("{} has no {} handler for packet '{}'", receiver_name(),
                                     registration::to_string(kind()), message_.packet_name()));
    return {};
  }
  scope.context.emplace(message_, deadline_);
  scope.invocation.context = &*scope.context;
  if (actor_ != nullptr) scope.invocation.actor = actor_->object();
  if (spot != nullptr) scope.invocation.spot = spot->object();
  return handler->invoke(scope.invocation);
}

// What keeps the handler from counting as normally ended, with its metrics.
std::optional<Error> MessageJob::outcome(const HandlerScope& scope,
                                         std::exception_ptr failure) const {
  const registration::Invocation& invocation = scope.invocation;
  if (failure != nullptr) {
    core_.metrics.handler_throws.add();
    return error_of(std::move(failure), fmt::format("the handler of {} for packet '{}'",
                                                    receiver_name(), message_.packet_name()));
  }
  if (scope.has_expired) {
    core_.metrics.expired_requests.add();
    return Error::deadline_exceeded("the request's deadline passed before its turn came");
  }
  if (invocation.error.has_value()) {
    if (invocation.is_undecodable) {
      core_.metrics.decode_failures.add();
    } else if (scope.context.has_value()) {
      core_.metrics.handler_errors.add();
    }
    return invocation.error;
  }
  if (invocation.reply.has_value() && invocation.reply->payload().size() > limits::message_bytes) {
    core_.metrics.unencodable_replies.add();
    return Error::internal_failure(fmt::format(
        "the reply '{}' of {} has {} bytes; {} are allowed", invocation.reply->packet_name(),
        receiver_name(), invocation.reply->payload().size(), limits::message_bytes));
  }
  core_.metrics.handled.add();
  return {};
}

void MessageJob::report(const Error& error) const {
  core_.log(
      LogLevel::Warning,
      fmt::format("one-way packet '{}' to {}{} failed: {}", message_.packet_name(), receiver_name(),
                  topic_ != nullptr ? " about " + name_of(*topic_) : std::string(),
                  to_string(error)));
}

void MessageJob::finished(runtime::Turn& turn, std::exception_ptr failure) {
  auto& scope = static_cast<HandlerScope&>(*turn.scope());
  std::optional<Error> error = outcome(scope, std::move(failure));
  const bool is_normal = !error.has_value();
  if (is_one_way_) {
    if (error.has_value()) report(*error);
  } else if (error.has_value()) {
    reply_.complete(fail(*std::move(error)));
  } else {
    reply_.complete(*std::move(scope.invocation.reply));
  }
  // After the reply: whatever has become of the requester does not stop a Join.
  scope.end(is_normal);
}

std::string_view MessageJob::what() const {
  const PacketDescriptor* packet = message_.descriptor();
  return packet != nullptr ? std::string_view(packet->name) : "a packet nobody knows";
}

void MessageJob::refuse(const Error& error) {
  core_.metrics.refused_messages.add();
  if (is_one_way_) {
    report(error);
  } else {
    reply_.refuse(error);
  }
}

}  // namespace spotmesh::objects
