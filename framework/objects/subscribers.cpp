#include "objects/subscribers.hpp"

#include <utility>

#include <fmt/format.h>

#include "objects/core.hpp"
#include "objects/message_job.hpp"
#include "objects/spot_cell.hpp"

namespace spotmesh::objects {

using runtime::Ref;

std::string name_of(const TopicKey& key) {
  return fmt::format("topic '{}' of channel '{}' in mesh '{}'", key.topic.name, key.topic.channel,
                     key.mesh);
}

void Subscribers::add(SpotCell& spot) {
  std::lock_guard lock(mutex_);
  for (const registration::Topic& topic : spot.type().handlers.topics()) {
    by_topic_[{spot.mesh().name, topic}].insert_or_assign(spot.id(), Ref<SpotCell>(&spot));
  }
}

void Subscribers::remove(const SpotCell& spot) {
  std::vector<Ref<SpotCell>> ended;  // outside the lock
  std::lock_guard lock(mutex_);
  for (const registration::Topic& topic : spot.type().handlers.topics()) {
    const auto spots = by_topic_.find({spot.mesh().name, topic});
    if (spots == by_topic_.end()) continue;
    const auto found = spots->second.find(spot.id());
    if (found == spots->second.end() || found->second.get() != &spot) continue;
    ended.push_back(std::move(found->second));
    spots->second.erase(found);
    if (spots->second.empty()) by_topic_.erase(spots);
  }
}

void Subscribers::clear() {
  std::map<TopicKey, Spots> ended;  // outside the lock
  std::lock_guard lock(mutex_);
  ended.swap(by_topic_);
}

bool Subscribers::deliver(const TopicKey& key, const Message& message) {
  const std::vector<Ref<SpotCell>> spots = spots_of(key);
  if (spots.empty()) return false;
  const auto shared_key = std::make_shared<const TopicKey>(key);
  for (const Ref<SpotCell>& spot : spots) push(*spot, shared_key, message);
  return true;
}

std::vector<Ref<SpotCell>> Subscribers::spots_of(const TopicKey& key) const {
  std::vector<Ref<SpotCell>> found;
  std::lock_guard lock(mutex_);
  const auto spots = by_topic_.find(key);
  if (spots == by_topic_.end()) return found;
  found.reserve(spots->second.size());
  for (const auto& [id, spot] : spots->second) found.push_back(spot);
  return found;
}

void Subscribers::push(SpotCell& spot, const std::shared_ptr<const TopicKey>& key,
                       const Message& message) {
  auto pushed = spot.mailbox().push(runtime::Lane::Application,
                                    std::make_unique<MessageJob>(spot, message, key));
  // Its mailbox may have been closed a moment ago: then it is no subscriber any more.
  if (pushed || spot.mailbox().is_closed()) return;
  core_.metrics.missed_publications.add();
  core_.log(LogLevel::Warning,
            fmt::format("{} misses '{}' about {}: {}", spot.name(), message.packet_name(),
                        name_of(*key), pushed.error().message()));
}

}  // namespace spotmesh::objects
