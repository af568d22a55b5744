// Counters of a node's object side; read at any time from any thread.
#pragma once

#include <cstdint>

#include "base/count.hpp"

namespace spotmesh::objects {

using spotmesh::Count;
using spotmesh::SpreadCount;

// Requests that wait for their one reply, by what they were sent to. Goes down, too.
struct RequestsInFlight {
  Count actor;
  Count spot;
  std::int64_t value() const { return actor.value() + spot.value(); }
};

struct Metrics {
  // What became of messages that reached a mailbox.
  SpreadCount handled;
  Count handler_errors;  // the handler returned an Error
  Count handler_throws;  // … or threw
  Count no_handler;
  Count decode_failures;
  Count unencodable_replies;
  Count expired_requests;  // past their deadline when their turn came
  Count refused_messages;  // waited in a mailbox that was closed

  Count publications;         // submitted here
  Count publication_copies;   // sent to other nodes
  Count missed_publications;  // a subscriber's mailbox, or the way to its node, was full

  RequestsInFlight requests_in_flight;
  Count late_replies;
  Count stale_routes;       // messages of other nodes for whom is not here
  Count undelivered_sends;  // a send that was to wait for a resolve and found no receiver
  Count stale_refused;  // session payload and unbinds of a binding that is no longer the present
  Count unsound_peer_messages;  // bytes of other nodes that break the protocol
  Count unsent_answers;         // to calls of other nodes whose lane had no room
  Count callback_throws;        // lifecycle callbacks and timers
  Count stuck_turns;            // were found to last longer than ObjectsConfig::turn_warning_after
  Count store_reads;
  Count store_commits;
  // A record of the store that does not parse was met: its id is in the log, the others go on.
  Count quarantined_records;
  Count checkpoints_written;
  Count checkpoints_failed;  // not captured, too large, or refused by the store
  // After a new epoch of the store.
  Count reasserted_objects;
  Count stepped_down_objects;
};

}  // namespace spotmesh::objects
