// The records by which those who publish about a topic and those who have subscribed to it find
// each other: one mark per topic, side and node run.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

#include "location/records.hpp"

namespace spotmesh::location {

struct TopicName {
  std::string mesh;
  std::string channel;
  std::string topic;
  friend auto operator<=>(const TopicName&, const TopicName&) = default;
};

enum class TopicSide : std::uint8_t { Publishers, Subscribers };
constexpr TopicSide other(TopicSide side) {
  return side == TopicSide::Publishers ? TopicSide::Subscribers : TopicSide::Publishers;
}

// Written under the lease of the run that it names; its key ends with that run's RID, so nobody
// else writes there.
struct TopicMark {
  OwnerStamp stamp;
  TopicName topic;
  friend bool operator==(const TopicMark&, const TopicMark&) = default;
};

Bytes encode(const TopicMark& record);
Result<TopicMark> decode_topic_mark(std::string_view key, ByteView value);

namespace keys {

inline constexpr std::string_view topic_prefix = "spotmesh/topic/";

// Where all marks of one side of a topic stand. A topic is named by a hash, since its texts could
// be too long for a key: marks of another topic may stand there, too, and each names its own.
std::string topic_marks(const TopicName& topic, TopicSide side);
std::string topic_mark(const TopicName& topic, TopicSide side, const NodeRid& node);

}  // namespace keys
}  // namespace spotmesh::location
