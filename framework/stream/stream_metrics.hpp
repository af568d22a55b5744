// Counters of a gateway; read at any time from any thread.
#pragma once

#include "objects/metrics.hpp"

namespace spotmesh::stream {

using objects::Count;

struct StreamMetrics {
  Count sessions;  // open now; goes down, too
  Count sessions_opened;
  Count sessions_refused;    // turned away because the gateway was full
  Count addresses_refused;   // turned away because there were too many of their address
  Count handshakes;          // connections that have not said Hello; goes down, too
  Count handshakes_refused;  // broke the protocol, or do not fit this server's schema
  Count handshakes_expired;  // said nothing in time, or had to make room for others
  // Why sessions ended.
  Count closed_by_client;
  Count closed_by_server;
  Count closed_replaced;
  Count closed_lost;
  Count closed_for_protocol;
  Count closed_slow;
  Count closed_over_quota;
  Count closed_for_shutdown;

  Count bytes_in;
  Count bytes_out;
  Count requests_in;
  Count one_way_in;
  Count pushes_out;
  Count pushes_encoded;     // fewer than pushes_out where broadcasts share a frame
  Count pushes_superseded;  // a newer one took their place before they were sent
  Count pushes_stale;       // their time was over before they were sent
  Count replies_out;
  Count error_replies_out;

  Count handled;         // by a session's own handler
  Count relayed;         // taken by the mailbox of a bound Actor
  Count handler_errors;  // the handler returned an Error
  Count handler_throws;  // a handler or callback threw
  Count no_handler;      // no session handler, and not exactly one bound Actor
  Count unknown_packets;
  Count undecodable;       // a request whose payload does not fit its schema
  Count over_in_flight;    // requests refused because too many were unanswered
  Count expired_requests;  // answered by their deadline
  Count late_replies;      // came after the deadline
  Count orphaned_replies;  // came after the session had ended
  Count dropped_packets;   // waited when the session ended, or no longer mattered
  Count reading_paused;    // how often a client was no longer read
  Count held_back;         // how often a client had used up its quota
  Count stale_bindings;    // pushes, replacements and notices for a binding that is not the present
};

}  // namespace spotmesh::stream
