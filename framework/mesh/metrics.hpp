// Counters of a node's mesh sessions; read at any time from any thread.
#pragma once

#include "base/count.hpp"

namespace spotmesh::mesh {

struct MeshMetrics {
  Count sessions;  // goes down, too
  Count links;     // sessions that are connected; goes down, too
  Count dials;
  Count cuts;  // links that have ended, whyever
  Count messages_sent;
  Count messages_taken;
  Count frames_sent;
  Count frames_resent;
  Count frames_taken;
  Count duplicates_dropped;
  Count refused_sends;       // Unavailable or InvalidOperation
  Count refused_handshakes;  // by either side
};

}  // namespace spotmesh::mesh
