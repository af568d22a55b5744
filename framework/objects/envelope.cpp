#include "objects/envelope.hpp"

#include <fmt/format.h>

namespace spotmesh::objects {

ReplyFunction::~ReplyFunction() {
  call(fail(Error::unavailable("the node that was to reply has ended")));
}

void ReplyFunction::call(Result<Message> outcome) {
  if (!is_done_.exchange(true, std::memory_order_acq_rel)) function_(std::move(outcome));
}

std::string target_name(TargetKind kind, std::string_view id) {
  return fmt::format("{} '{}'", kind == TargetKind::Actor ? "Actor" : "Spot", id);
}

std::string Envelope::what() const {
  return fmt::format("{} '{}' to {}", registration::to_string(message_kind()),
                     message.packet_name(), target_name(kind, id));
}

void Envelope::refuse(Error error) {
  if (accepted) {
    accepted->complete(fail(std::move(error)));
  } else {
    reply.complete(fail(std::move(error)));
  }
}

}  // namespace spotmesh::objects
