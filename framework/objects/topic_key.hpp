// TopicKey: a topic in its mesh.
#pragma once

#include <compare>
#include <string>

#include <spotmesh/registration.hpp>

#include "location/topic_record.hpp"

namespace spotmesh::objects {

struct TopicKey {
  std::string mesh;
  registration::Topic topic;
  friend auto operator<=>(const TopicKey&, const TopicKey&) = default;
};

// "topic 't' of channel 'c' in mesh 'm'", for messages.
std::string name_of(const TopicKey& key);

inline location::TopicName stored_name(const TopicKey& key) {
  return {key.mesh, key.topic.channel, key.topic.name};
}

}  // namespace spotmesh::objects
