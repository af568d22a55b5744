#include <spotmesh/registration.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

namespace spotmesh::registration {
namespace {

std::string_view to_string(Receiver receiver) {
  switch (receiver) {
    case Receiver::Actor:
      return "an Actor's";
    case Receiver::Spot:
      return "the Spot's own";
    case Receiver::Session:
      return "the Session's";
  }
  return "a";
}

bool is_same_key(const Handler& a, const Handler& b) {
  return a.receiver == b.receiver && a.kind == b.kind && a.actor_class == b.actor_class &&
         a.packet->id == b.packet->id && a.topic == b.topic;
}

void check_topic(const Handler& handler) {
  for (const auto& [text, what] :
       {std::pair(&handler.topic->channel, "channel"), std::pair(&handler.topic->name, "topic")}) {
    if (auto valid = validate_id(*text, what); !valid) {
      throw ConfigurationError(fmt::format("the subscription at {} names no {}: {}",
                                           place_of(handler.where), what, valid.error().message()));
    }
  }
}

// "send handler for packet 'p'", "subscription to topic 't' of channel 'c' for packet 'p'".
std::string name_of(const Handler& handler) {
  if (!handler.topic.has_value()) {
    return fmt::format("{} handler for packet '{}'", to_string(handler.kind), handler.packet->name);
  }
  return fmt::format("subscription to topic '{}' of channel '{}' for packet '{}'",
                     handler.topic->name, handler.topic->channel, handler.packet->name);
}

}  // namespace

std::string_view to_string(MessageKind kind) {
  switch (kind) {
    case MessageKind::Send:
      return "send";
    case MessageKind::Request:
      return "request";
    case MessageKind::Publication:
      return "subscription";
  }
  return "unknown";
}

std::string place_of(const std::source_location& where) {
  return fmt::format("{}:{}", where.file_name(), where.line());
}

void HandlerList::add(Handler handler) {
  if (handler.topic.has_value()) check_topic(handler);
  const auto earlier = std::ranges::find_if(
      handlers_, [&](const Handler& other) { return is_same_key(other, handler); });
  if (earlier != handlers_.end()) {
    throw ConfigurationError(fmt::format("{} {} is registered twice: at {} and at {}; remove one",
                                         to_string(handler.receiver), name_of(handler),
                                         place_of(earlier->where), place_of(handler.where)));
  }
  handlers_.push_back(std::move(handler));
}

void HandlerList::add(Timer timer) {
  const auto earlier =
      std::ranges::find_if(timers_, [&](const Timer& other) { return other.key == timer.key; });
  if (earlier != timers_.end()) {
    throw ConfigurationError(
        fmt::format("timer '{}' is registered twice: at {} and at {}; rename one", timer.key,
                    place_of(earlier->where), place_of(timer.where)));
  }
  timers_.push_back(std::move(timer));
}

}  // namespace spotmesh::registration
