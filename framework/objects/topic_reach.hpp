// TopicReach: whether a node run whose mark was read can be spoken to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <spotmesh/time.hpp>

#include "location/records.hpp"
#include "mesh/peers.hpp"
#include "objects/topic_key.hpp"

namespace spotmesh::objects {

class Core;

enum class Reach : std::uint8_t {
  Known,   // its address is known
  Over,    // its lease is: the mark was left behind, and is removed
  Unknown  // neither, in the time that was given
};

// `done` is called once on the strand, perhaps within the call, and not when the node has ended.
// Strand only.
void find_reach(Core& core, const TopicKey& key, location::TopicSide side,
                const location::OwnerStamp& stamp, Instant until, std::function<void(Reach)> done);

}  // namespace spotmesh::objects
