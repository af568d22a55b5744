// PublishCall: a message to whoever has subscribed to its topic.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <spotmesh/calls.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/message.hpp>
#include <spotmesh/task.hpp>

namespace spotmesh {

// A publication about one topic of a channel.
class [[nodiscard]] PublishCall : private CallState {
 public:
  PublishCall(objects::Caller& caller, std::string channel, std::string topic, Message message)
      : CallState(caller, std::move(topic)),
        channel_(std::move(channel)),
        message_(std::move(message)) {}

  // The mesh whose Spots get it; without it that of the publisher, and for a session the only one
  // with an object role. NotFound when this process takes no part in a mesh of that name.
  PublishCall& in_mesh(std::string name) & {
    set_once(mesh_, std::move(name), "in_mesh");
    return *this;
  }
  PublishCall&& in_mesh(std::string name) && { return std::move(in_mesh(std::move(name))); }
  // A small pair that arrives with the message; at most 16 pairs and 4096 bytes together.
  PublishCall& metadata(std::string key, std::string value) & {
    message_.metadata().emplace_back(std::move(key), std::move(value));
    return *this;
  }
  PublishCall&& metadata(std::string key, std::string value) && {
    return std::move(metadata(std::move(key), std::move(value)));
  }

  // Done when it has been handed over: to the mailboxes of this node's subscribers and to the
  // outbound queues of the nodes that have some, one copy each. What its handlers do later changes
  // nothing, and neither does a subscriber or node that cannot take it: that is counted and logged,
  // and the others have it. Without any subscriber there is nothing to do, and that is success.
  // Publications of one gate about one topic reach each subscriber in their order, also when the
  // Tasks are not awaited. InvalidOperation: the channel or topic is no UTF-8 of 1..255 bytes, or
  // the message is too large. With the other two errors the subscribers of this node have it, and
  // those of other nodes do not. CapacityExceeded: this node publishes about
  // limits::published_topics already, or too many publications of the topic wait to learn where its
  // subscribers are. Unavailable: that could not be learned in 5 s.
  Task<Result<void>> submit();

 private:
  std::string channel_;
  std::optional<std::string> mesh_;
  Message message_;
};

}  // namespace spotmesh
