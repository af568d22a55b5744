// SessionRow: a client session, for those who look at it from outside.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/ids.hpp>

#include "stream/session_life.hpp"

namespace spotmesh::stream {

struct SessionRow {
  SessionId id;
  std::string gateway;  // the name of its stream
  SessionState state = SessionState::Open;
  std::string remote_address;
  std::vector<ActorRef> actors;    // bound, in the order in which they were bound
  std::size_t queued_packets = 0;  // came in, and their handlers have not ended
  std::size_t unanswered_requests = 0;
  std::size_t unsent_bytes = 0;  // given to its connection, which has not taken them yet
};

// The id as to_string(SessionId) writes it.
std::optional<SessionId> parse_session_id(std::string_view text);

}  // namespace spotmesh::stream
