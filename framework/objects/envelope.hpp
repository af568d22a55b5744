// Envelope: one message on its way to an object, with where its outcome goes.
#pragma once

#include <atomic>
#include <functional>
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
#include "objects/requests.hpp"
#include "runtime/completion.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

// A function that gets a reply exactly once: when nobody has called it, its last owner's end does,
// with Unavailable, since none will come.
class ReplyFunction {
 public:
  using Function = std::function<void(Result<Message>)>;

  ReplyFunction(Function function, std::optional<ObjectName> asker)
      : function_(std::move(function)), asker_(std::move(asker)) {}
  ReplyFunction(const ReplyFunction&) = delete;
  ReplyFunction& operator=(const ReplyFunction&) = delete;
  virtual ~ReplyFunction();

  void call(Result<Message> outcome);
  // The message has not met its handler, and will not.
  virtual void refuse(const Error& error) { call(fail(error)); }
  // The caller of the operation learns its failure by other means: the function is never called.
  void disarm() { is_done_.store(true, std::memory_order_release); }
  const std::optional<ObjectName>& asker() const { return asker_; }

 private:
  Function function_;
  const std::optional<ObjectName> asker_;
  std::atomic<bool> is_done_{false};
};

// An error of this node's own, for somebody on another: that this one stops is its own affair, and
// there it is Unavailable.
Error as_seen_elsewhere(const Error& error);

// For a requester of another node.
class PeerReplyFunction final : public ReplyFunction {
 public:
  using ReplyFunction::ReplyFunction;
  void refuse(const Error& error) override;
};

// Where a handler's reply goes: nowhere (one-way), to a request of this node, or to a function. The
// first outcome counts.
class ReplySink {
 public:
  ReplySink() = default;
  explicit ReplySink(runtime::Ref<PendingRequest> request) : request_(std::move(request)) {}
  explicit ReplySink(ReplyFunction::Function function)
      : ReplySink(std::make_shared<ReplyFunction>(std::move(function), std::nullopt)) {}
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
  // "send 'p.Note' to Actor 'x'", for messages.
  std::string what() const;
  // The message cannot be delivered.
  void refuse(Error error);
};

// InvalidOperation when the payload or the metadata are larger than the limits allow, or the
// metadata are not UTF-8. The caller adds the name of the call.
Result<void> check_message(const Message& message);

}  // namespace spotmesh::objects
