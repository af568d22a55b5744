#include "objects/peer_topics.hpp"

#include <utility>

#include <peer_messages_generated.h>

#include <spotmesh/ids.hpp>

#include "objects/peer_bodies.hpp"

namespace spotmesh::objects {
namespace {

using flatbuffers::FlatBufferBuilder;

flatbuffers::Offset<body::Topic> write_topic(FlatBufferBuilder& builder, const TopicKey& key) {
  const auto mesh = builder.CreateString(key.mesh);
  const auto channel = builder.CreateString(key.topic.channel);
  const auto name = builder.CreateString(key.topic.name);
  return body::CreateTopic(builder, mesh, channel, name);
}

Result<TopicKey> read_topic(const PeerMessage& from, const body::Topic& topic) {
  TopicKey key{topic.mesh()->str(), {topic.channel()->str(), topic.name()->str()}};
  for (const auto& [text, what] :
       {std::pair(&key.mesh, "mesh"), std::pair(&key.topic.channel, "channel"),
        std::pair(&key.topic.name, "topic")}) {
    if (auto valid = validate_id(*text, what); !valid) {
      return fail(unsound(from, valid.error().message()));
    }
  }
  return key;
}

}  // namespace

FlatBufferBuilder publication(const TopicKey& topic, const Message& message) {
  FlatBufferBuilder builder(message.payload().size() + 512);
  const auto packet = write_packet(builder, message);
  const auto about = write_topic(builder, topic);
  builder.Finish(body::CreatePublication(builder, about, packet));
  return builder;
}

FlatBufferBuilder topic_change(const TopicKey& topic, bool has_subscriber) {
  FlatBufferBuilder builder;
  const auto about = write_topic(builder, topic);
  builder.Finish(body::CreateTopicChange(builder, about, has_subscriber));
  return builder;
}

Result<ReadPublication> read_publication(const PeerMessage& from,
                                         const FrozenApplication& application) {
  auto table = read_body<body::Publication>(from);
  if (!table) return fail(table.error());
  auto topic = read_topic(from, *(*table)->topic());
  if (!topic) return fail(topic.error());
  auto message = read_packet(from, *(*table)->message(), application);
  if (!message) return fail(message.error());
  return ReadPublication{*std::move(topic), *std::move(message)};
}

Result<ReadTopicChange> read_topic_change(const PeerMessage& from) {
  auto table = read_body<body::TopicChange>(from);
  if (!table) return fail(table.error());
  auto topic = read_topic(from, *(*table)->topic());
  if (!topic) return fail(topic.error());
  return ReadTopicChange{*std::move(topic), (*table)->has_subscriber()};
}

}  // namespace spotmesh::objects
