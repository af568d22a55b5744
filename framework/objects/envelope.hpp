// Envelope: one message on its way to an object, with where its outcome goes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/registration.hpp>
#include <spotmesh/time.hpp>

#include "objects/object_name.hpp"
#include "objects/reply_function.hpp"
#include "objects/requests.hpp"
#include "runtime/completion.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

// An error of this node's own, for somebody on another: that this one stops is its own affair, and
// there it is Unavailable.
Error as_seen_elsewhere(const Error& error);

// For a requester of another node.
class PeerReplyFunction final : public FunctionReply {
 public:
  using FunctionReply::FunctionReply;
  void refuse(const Error& error) override;
};

// Where a handler's reply goes: nowhere (one-way), to a request of this node, or to a function. The
// first outcome counts.
class ReplySink {
 public:
  ReplySink() = default;
  explicit ReplySink(runtime::Ref<PendingRequest> request) : request_(std::move(request)) {}
  explicit ReplySink(FunctionReply::Function function)
      : ReplySink(std::make_shared<FunctionReply>(std::move(function))) {}
  explicit ReplySink(std::shared_ptr<ReplyFunction> function) : function_(std::move(function)) {}

  bool is_one_way() const { return !request_ && function_ == nullptr; }
  void complete(Result<Message> outcome) const {
    if (request_) {
      request_->complete(std::move(outcome));
    } else if (function_) {
      function_->call(std::move(outcome));
    }
  }
  // The message was accepted, and then its receiver has ended before its turn came.
  void refuse(const Error& error) const {
    if (request_) {
      request_->complete(fail(error));
    } else if (function_) {
      function_->refuse(error);
    }
  }
  void disarm() const {
    if (function_) function_->disarm();
  }
  // The Actor or Spot whose turn waits for the reply; nothing when none does.
  std::optional<ObjectName> asker() const {
    if (request_) return request_->asker();
    return function_ ? function_->asker() : std::nullopt;
  }

 private:
  runtime::Ref<PendingRequest> request_;
  std::shared_ptr<ReplyFunction> function_;
};

// "send 'p.Note' to Actor 'x'", for messages.
std::string describe_message(registration::MessageKind kind, const Message& message,
                             TargetKind target, std::string_view id);

struct Envelope {
  TargetKind kind = TargetKind::Actor;
  std::string id;
  Message message;
  std::optional<Instant> deadline;  // of a request
  ReplySink reply;
  // Of a one-way message: told when the source side has accepted it, or why not.
  runtime::Ref<runtime::Completion<Result<void>>> accepted;

  registration::MessageKind message_kind() const {
    return reply.is_one_way() ? registration::MessageKind::Send
                              : registration::MessageKind::Request;
  }
  std::string what() const { return describe_message(message_kind(), message, kind, id); }
  // The message cannot be delivered.
  void refuse(Error error);
};

// InvalidOperation when the payload or the metadata are larger than the limits allow, or the
// metadata are not UTF-8. The caller adds the name of the call.
Result<void> check_message(const Message& message);

}  // namespace spotmesh::objects
