// Decision: what a lifecycle callback answers when it is asked whether something may happen.
#pragma once

#include <utility>

#include <spotmesh/message.hpp>
#include <spotmesh/packet.hpp>

namespace spotmesh {

// Accepts or rejects, each with an optional reply for whoever asked. A callback that throws neither
// accepts nor rejects: the operation fails with InternalFailure.
class [[nodiscard]] Decision {
 public:
  static Decision accept(Message reply = {}) { return Decision(true, std::move(reply)); }
  static Decision reject(Message reply = {}) { return Decision(false, std::move(reply)); }
  template <Packet P>
  static Decision accept(const P& reply) {
    return accept(Message::of(reply));
  }
  template <Packet P>
  static Decision reject(const P& reply) {
    return reject(Message::of(reply));
  }

  bool is_accepted() const { return is_accepted_; }
  // Empty when the callback gave none.
  const Message& reply() const { return reply_; }

 private:
  Decision(bool is_accepted, Message reply) : is_accepted_(is_accepted), reply_(std::move(reply)) {}

  bool is_accepted_;
  Message reply_;
};

// Answer of on_create_actor and on_create.
using CreateDecision = Decision;
// Answer of on_actor_join.
using JoinDecision = Decision;

}  // namespace spotmesh
