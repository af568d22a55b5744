#include "location/topic_record.hpp"

#include <fmt/format.h>
#include <location_generated.h>

#include "location/record_format.hpp"

namespace spotmesh::location {
namespace {

std::string text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string() : text->str();
}

// FNV-1a over the texts and their lengths.
std::uint64_t hash_of(const TopicName& topic) {
  std::uint64_t sum = 0xcbf29ce484222325;
  const auto add = [&sum](std::uint8_t byte) { sum = (sum ^ byte) * 0x100000001b3; };
  for (const std::string* text : {&topic.mesh, &topic.channel, &topic.topic}) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      add(static_cast<std::uint8_t>(text->size() >> shift));
    }
    for (const char character : *text) add(static_cast<std::uint8_t>(character));
  }
  return sum;
}

}  // namespace

Bytes encode(const TopicMark& record) {
  flatbuffers::FlatBufferBuilder builder;
  const auto node = builder.CreateString(record.stamp.rid.text);
  const auto mesh = builder.CreateString(record.topic.mesh);
  const auto channel = builder.CreateString(record.topic.channel);
  const auto topic = builder.CreateString(record.topic.topic);
  const stored::Id128 lifecycle(record.stamp.lifecycle.high, record.stamp.lifecycle.low);
  builder.Finish(stored::CreateTopicMark(builder, node, record.stamp.lease_generation.value,
                                         &lifecycle, mesh, channel, topic));
  return frame_record(RecordKind::TopicMark, builder);
}

Result<TopicMark> decode_topic_mark(std::string_view key, ByteView value) {
  const auto refused = [key](std::string_view fault) {
    return fail(damaged_record(key, RecordKind::TopicMark, fault));
  };
  Bytes aligned;
  auto payload = open_record(key, RecordKind::TopicMark, value, aligned);
  if (!payload) return fail(payload.error());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(payload->data());
  flatbuffers::Verifier verifier(bytes, payload->size());
  if (!verifier.VerifyBuffer<stored::TopicMark>(nullptr)) return refused("its fields are unsound");
  const auto* mark = flatbuffers::GetRoot<stored::TopicMark>(bytes);

  TopicName topic{text_of(mark->mesh()), text_of(mark->channel()), text_of(mark->topic())};
  for (const std::string* text : {&topic.mesh, &topic.channel, &topic.topic}) {
    if (auto valid = validate_id(*text, "a name"); !valid) return refused(valid.error().message());
  }
  auto owner = OwnerId::parse(text_of(mark->node()));
  if (!owner) return refused(owner.error().message());
  if (!key.ends_with("/" + owner->text())) return refused("it names another node than its key");
  if (mark->lease_generation() == 0 || mark->lease_generation() > max_counter) {
    return refused("its lease generation is out of range");
  }
  if (mark->lifecycle() == nullptr) return refused("its lifecycle is missing");
  const LifecycleId lifecycle{mark->lifecycle()->high(), mark->lifecycle()->low()};
  if (lifecycle.is_none()) return refused("its lifecycle is missing");
  const NodeRid rid{owner->text()};
  return TopicMark{{*std::move(owner), LeaseGeneration{mark->lease_generation()}, rid, lifecycle},
                   std::move(topic)};
}

namespace keys {

std::string topic_marks(const TopicName& topic, TopicSide side) {
  return fmt::format("{}{:016x}/{}/", topic_prefix, hash_of(topic),
                     side == TopicSide::Publishers ? "p" : "s");
}

std::string topic_mark(const TopicName& topic, TopicSide side, const NodeRid& node) {
  return topic_marks(topic, side) + node.text;
}

}  // namespace keys
}  // namespace spotmesh::location
