// MessageContext: what a handler may ask about the message it was given.
#pragma once

#include <optional>

#include <spotmesh/message.hpp>
#include <spotmesh/time.hpp>

namespace spotmesh {

// An optional last parameter of any message handler, valid until the handler has ended.
class MessageContext {
 public:
  MessageContext(const Message& message, std::optional<Instant> deadline)
      : message_(&message), deadline_(deadline) {}

  // The pairs the sender put on this message.
  const Metadata& metadata() const { return message_->metadata(); }
  // The message as it arrived.
  const Message& message() const { return *message_; }
  // When the requester stops waiting, on this node's clock; empty for a one-way message. An answer
  // given later is dropped and counted.
  std::optional<Instant> deadline() const { return deadline_; }

 private:
  const Message* message_;
  std::optional<Instant> deadline_;
};

}  // namespace spotmesh
