#include "store/redis/hints.hpp"

#include <utility>

#include <fmt/format.h>

namespace spotmesh::store::redis {
namespace {

constexpr auto ping_interval = std::chrono::seconds(5);
constexpr auto reconnect_pause = std::chrono::milliseconds(250);

// A pattern that stands for what begins with these bytes.
std::string pattern_of(std::string_view start) {
  std::string pattern;
  for (const char character : start) {
    if (std::string_view("*?[]^\\").find(character) != std::string_view::npos) pattern += '\\';
    pattern += character;
  }
  return pattern + '*';
}

}  // namespace

void Hints::add(std::string prefix, location::HintCallback hint) {
  std::string pattern = pattern_of(keys_.hint_channel + prefix);
  if (connection_) connection_->append({"PSUBSCRIBE", pattern});
  watches_.push_back({std::move(prefix), std::move(pattern), std::move(hint)});
}

void Hints::process(const RedisAddress* server, SteadyTime now) {
  if (connection_) {
    while (const Reply reply = connection_->next_reply()) take(*reply);
  }
  is_wanted_ = server != nullptr && !watches_.empty();
  const bool is_due = now >= wake_;
  if (connection_ && (server == nullptr || connection_->address() != *server ||
                      !connection_->fault().empty() || (is_due && is_silent_))) {
    connection_.reset();
    wake_ = now + reconnect_pause;
  } else if (connection_ && is_due) {
    connection_->append({"PING"});
    is_silent_ = true;
    wake_ = now + ping_interval;
  } else if (!connection_ && is_due && is_wanted_) {
    connect(*server, now);
  }
}

void Hints::connect(const RedisAddress& server, SteadyTime now) {
  connection_ = std::make_unique<Connection>(server);
  if (!options_.credentials.password.empty()) connection_->append(auth_words(options_.credentials));
  for (const Watch& watch : watches_) connection_->append({"PSUBSCRIBE", watch.pattern});
  is_silent_ = true;
  wake_ = now + ping_interval;
}

void Hints::take(const redisReply& reply) {
  is_silent_ = false;
  if (is_error(reply) && !std::exchange(has_told_, true)) {
    options_.warn(fmt::format("Redis {}: it refuses hints, so changes are seen later: {}",
                              to_string(connection_->address()), text_of(reply)));
  }
  const auto words = elements_of(reply);
  if (words.size() < 3) return;  // the answers to AUTH and PING
  const std::string_view pattern = text_of(*words[1]);
  const bool is_message = text_of(*words[0]) == "pmessage";
  for (const Watch& watch : watches_) {
    if (watch.pattern != pattern) continue;
    // What was written before the subscription is not known.
    watch.hint(is_message ? text_of(*words[2]).substr(keys_.hint_channel.size())
                          : std::string_view(watch.prefix));
  }
}

}  // namespace spotmesh::store::redis
