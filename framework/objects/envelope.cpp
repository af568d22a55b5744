#include "objects/envelope.hpp"

#include <fmt/format.h>

#include <spotmesh/limits.hpp>

#include "base/utf8.hpp"

namespace spotmesh::objects {

void ReplyFunction::end_unanswered() {
  if (is_done_.load(std::memory_order_acquire)) return;
  call(fail(Error::unavailable("no reply will come: the node that was to give it has ended")));
}

Error as_seen_elsewhere(const Error& error) {
  return error.kind() == ErrorKind::ShuttingDown ? Error::unavailable(error.message()) : error;
}

void PeerReplyFunction::refuse(const Error& error) { call(fail(as_seen_elsewhere(error))); }

std::string target_name(TargetKind kind, std::string_view id) {
  return fmt::format("{} '{}'", kind == TargetKind::Actor ? "Actor" : "Spot", id);
}

std::string describe_message(registration::MessageKind kind, const Message& message,
                             TargetKind target, std::string_view id) {
  return fmt::format("{} '{}' to {}", registration::to_string(kind), message.packet_name(),
                     target_name(target, id));
}

void Envelope::refuse(Error error) {
  if (accepted) {
    accepted->complete(fail(std::move(error)));
  } else {
    reply.complete(fail(std::move(error)));
  }
}

Result<void> check_message(const Message& message) {
  if (message.payload().size() > limits::message_bytes) {
    return fail(
        Error::invalid_operation(fmt::format("the message has {} bytes; {} are allowed",
                                             message.payload().size(), limits::message_bytes)));
  }
  std::size_t bytes = 0;
  for (const auto& [key, value] : message.metadata()) {
    bytes += key.size() + value.size();
    if (!is_valid_utf8(key) || !is_valid_utf8(value)) {
      return fail(Error::invalid_operation("the metadata is not UTF-8"));
    }
  }
  if (message.metadata().size() > limits::metadata_pairs || bytes > limits::metadata_bytes) {
    return fail(Error::invalid_operation(fmt::format(
        "metadata of {} pairs and {} bytes; {} and {} are allowed", message.metadata().size(),
        bytes, limits::metadata_pairs, limits::metadata_bytes)));
  }
  return {};
}

}  // namespace spotmesh::objects
