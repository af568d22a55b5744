// ReplyFunction: whom a reply is told that no request of this node waits for.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>

#include "objects/object_name.hpp"

namespace spotmesh::objects {

// Gets a reply exactly once: when nobody has called it, its last owner's end does, with
// Unavailable, since none will come. Any thread.
class ReplyFunction {
 public:
  ReplyFunction(const ReplyFunction&) = delete;
  ReplyFunction& operator=(const ReplyFunction&) = delete;
  virtual ~ReplyFunction() = default;

  void call(Result<Message> outcome) {
    if (!is_done_.exchange(true, std::memory_order_acq_rel)) answer(std::move(outcome));
  }
  // The message has not met its handler, and will not.
  virtual void refuse(const Error& error) { call(fail(error)); }
  // The caller of the operation learns its failure by other means: nothing is answered.
  void disarm() { is_done_.store(true, std::memory_order_release); }
  // Whose turn waits for it; nothing when none does.
  virtual std::optional<ObjectName> asker() const { return std::nullopt; }

 protected:
  ReplyFunction() = default;
  // For the destructor of each class that answers.
  void end_unanswered();

 private:
  virtual void answer(Result<Message> outcome) = 0;

  std::atomic<bool> is_done_{false};
};

class FunctionReply : public ReplyFunction {
 public:
  using Function = std::function<void(Result<Message>)>;

  explicit FunctionReply(Function function, std::optional<ObjectName> asker = std::nullopt)
      : function_(std::move(function)), asker_(std::move(asker)) {}
  ~FunctionReply() override { end_unanswered(); }
  std::optional<ObjectName> asker() const final { return asker_; }

 private:
  void answer(Result<Message> outcome) final { function_(std::move(outcome)); }

  const Function function_;
  const std::optional<ObjectName> asker_;
};

}  // namespace spotmesh::objects
