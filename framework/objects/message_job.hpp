// MessageJob: a message, or a publication, in the application lane of an Actor or Spot.
#pragma once

#include <memory>
#include <optional>

#include <spotmesh/message.hpp>
#include <spotmesh/registration.hpp>

#include "objects/envelope.hpp"
#include "objects/topic_key.hpp"
#include "runtime/job.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class ActorCell;
class Core;
class SpotCell;

// Its mailbox keeps the cell alive while it runs. Small, for thousands may wait: what a handler
// needs while it runs is in the scope of its turn.
class MessageJob final : public runtime::Job {
 public:
  MessageJob(ActorCell& actor, Message message, std::optional<Instant> deadline, ReplySink reply);
  MessageJob(SpotCell& spot, Message message, std::optional<Instant> deadline, ReplySink reply);
  // What was published about a topic that the Spot has subscribed to.
  MessageJob(SpotCell& spot, Message message, std::shared_ptr<const TopicKey> topic);

  Task<void> run(runtime::Turn& turn) override;
  void finished(runtime::Turn& turn, std::exception_ptr failure) override;
  std::string_view what() const override;
  void refuse(const Error& error) override;

  // The message of a job that no mailbox has taken.
  Message give_back() { return std::move(message_); }

  // Whose turn waits for this message's reply.
  std::optional<ObjectName> asker() const { return reply_.asker(); }

 private:
  class HandlerScope;

  registration::MessageKind kind() const;
  const registration::Handler* find_handler(const SpotCell* containing_spot) const;
  std::string receiver_name() const;
  std::optional<Error> outcome(const HandlerScope& scope, std::exception_ptr failure) const;
  void report(const Error& error) const;

  Core& core_;
  ActorCell* actor_ = nullptr;
  SpotCell* spot_ = nullptr;
  Message message_;
  std::optional<Instant> deadline_;
  ReplySink reply_;
  bool is_one_way_;
  std::shared_ptr<const TopicKey> topic_;  // of a publication
};

}  // namespace spotmesh::objects
