// Every bound of the runtime, in one place. Values that an operator may change are defaults of a
// configuration key of the same name; the others are part of the contract.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace spotmesh::limits {

using namespace std::chrono_literals;

inline constexpr std::size_t mebibyte = 1024 * 1024;

// Turns and mailboxes.
inline constexpr std::size_t mailbox_application_jobs =
    1024;  // waiting application messages per Actor or Spot
inline constexpr std::size_t mailbox_control_jobs =
    1024;  // waiting lifecycle jobs per Actor or Spot
inline constexpr unsigned control_jobs_in_a_row = 16;
inline constexpr unsigned resumed_turns_in_a_row = 16;
inline constexpr unsigned gate_batch_jobs = 64;
inline constexpr auto gate_batch_time = 1ms;
inline constexpr std::size_t timers_per_owner = 256;
inline constexpr auto turn_warning_after = 10s;  // a turn that lasts longer is reported

// Operations.
inline constexpr auto default_operation_timeout = 5s;
inline constexpr std::size_t looks_for_others = 256;  // records, after stale messages, at once
inline constexpr std::size_t create_request_bytes = mebibyte;
inline constexpr std::size_t join_request_bytes = mebibyte;
inline constexpr std::size_t join_requests_per_handler_bytes = 8 * mebibyte;
inline constexpr std::size_t join_reply_bytes = mebibyte;
inline constexpr unsigned joins_per_handler = 64;
inline constexpr auto terminal_record_retention = 5min;
inline constexpr std::size_t checkpoint_bytes = mebibyte;
inline constexpr auto checkpoint_interval = 30s;
inline constexpr auto min_checkpoint_interval = 1s;
// Operations of other nodes: under way at one node, and answers that it keeps in memory.
inline constexpr std::size_t durable_operations_under_way = 4096;
inline constexpr std::size_t durable_answers = 16'384;
inline constexpr std::size_t durable_answer_bytes = 16 * mebibyte;
inline constexpr std::size_t message_bytes = 4 * mebibyte;
// A packet's tables nest at most so deep, and are at most so many.
inline constexpr std::uint32_t packet_depth = 32;
inline constexpr std::uint32_t packet_tables = 65'536;
inline constexpr std::size_t metadata_pairs = 16;
inline constexpr std::size_t metadata_bytes = 4096;
inline constexpr std::size_t requests_in_flight_per_node = 100'000;
inline constexpr std::size_t sends_waiting_for_resolve_per_id = 1024;
inline constexpr std::size_t sends_waiting_for_resolve = 65'536;  // for all ids of a node

// Placement.
inline constexpr std::uint32_t pending_activations = 128;
inline constexpr std::uint32_t default_placement_weight = 100;
inline constexpr std::uint32_t max_placement_weight = 10'000;

// Leases (Location Store).
inline constexpr auto lease_renew_interval = 5s;
inline constexpr auto lease_ttl = 15s;
inline constexpr auto lease_renew_timeout = 3s;
inline constexpr auto lease_margin = 5s;
inline constexpr auto route_cache_max_age = 15s;
inline constexpr std::size_t route_cache_entries = 100'000;

// Publications.
inline constexpr std::size_t published_topics = 4096;  // that a node publishes about at a time
inline constexpr std::size_t publications_waiting_per_topic =
    1024;  // until it is known where its subscribers are
inline constexpr auto published_topic_idle_time = 60s;   // after which that is forgotten
inline constexpr auto subscription_notice_timeout = 1s;  // for those who publish to hear of one
inline constexpr std::size_t nodes_per_topic = 4096;

// The mesh. The lanes' bounds hold per peer, for what it has not acknowledged.
inline constexpr std::size_t mesh_message_bytes =
    message_bytes + 256 * 1024;  // one message to a peer: the longest of a game, and its envelope
inline constexpr std::size_t mesh_piece_bytes = 64 * 1024;  // longer messages are taken apart
inline constexpr std::size_t mesh_control_messages = 65'536;
inline constexpr std::size_t mesh_control_bytes = 16 * mebibyte;
inline constexpr std::size_t mesh_lane_messages = 65'536;
inline constexpr std::size_t mesh_lane_bytes = 32 * mebibyte;
inline constexpr std::size_t mesh_bulk_messages = 16'384;
inline constexpr std::size_t mesh_bulk_bytes = 256 * mebibyte;
inline constexpr std::size_t mesh_window_bytes = mebibyte;
inline constexpr auto mesh_heartbeat_interval = 2s;  // two missed ones cut the connection
inline constexpr auto mesh_handshake_timeout = 5s;
inline constexpr auto mesh_acknowledgement_delay = 20ms;
inline constexpr auto mesh_first_retry = 50ms;
inline constexpr auto mesh_last_retry = 5s;
inline constexpr std::size_t mesh_sessions = 4096;        // peers of one node
inline constexpr std::size_t mesh_strangers = 256;        // connections that have not proven who
inline constexpr std::size_t mesh_stranger_bytes = 4096;  // … and what they may have sent unread
inline constexpr std::size_t mesh_unread_bytes = 64 * mebibyte;  // of a peer's connection
inline constexpr std::size_t mesh_ended_runs = 65'536;           // runs of nodes known to be over

// What objects say to their like on other nodes.
inline constexpr std::size_t peer_unconfirmed_messages =
    1024;  // said to a peer before it is asked whether it has taken them
inline constexpr std::size_t peer_error_bytes = 8 * 1024;               // the text of an error
inline constexpr auto peer_longest_time = std::chrono::hours(24 * 60);  // that is left of a call

// Client sessions.
inline constexpr std::size_t stream_message_bytes = 64 * 1024;  // one inbound client message
// Unsent bytes that a client may leave standing for stream_slow_reader_time; at twice as many it is
// closed at once.
inline constexpr std::size_t stream_outbound_bytes = mebibyte;
inline constexpr auto stream_slow_reader_time = 1s;
inline constexpr auto stream_outbound_age = 30s;  // of what a client has not read
// What one client may send, and save up while it is silent; one that goes on sending more is closed
// after stream_quota_patience.
inline constexpr std::size_t stream_messages_per_second = 500;
inline constexpr std::size_t stream_message_burst = 1000;
inline constexpr std::size_t stream_bytes_per_second = mebibyte;
inline constexpr std::size_t stream_byte_burst = 2 * mebibyte;
inline constexpr auto stream_quota_patience = 10s;
inline constexpr std::size_t stream_connections_per_address = 1000;
inline constexpr std::size_t stream_handshakes = 1024;  // connections that have not said Hello
inline constexpr std::size_t stream_inbound_jobs =
    256;  // decoded packets waiting for their session
inline constexpr std::size_t stream_requests_in_flight = 256;  // unanswered requests of one client
inline constexpr auto stream_request_timeout = 15s;  // a client's request without an answer
inline constexpr std::size_t stream_bound_actors = 64;
inline constexpr std::size_t stream_sessions = 10'000;
inline constexpr auto stream_handshake_timeout = 10s;
inline constexpr auto stream_heartbeat_interval =
    15s;  // a silent client is pinged; two silent ones end it
inline constexpr auto replaced_session_close_delay = 100ms;

// Worker pools.
inline constexpr std::size_t cpu_worker_queue = 1024;
inline constexpr std::size_t io_worker_queue = 1024;

}  // namespace spotmesh::limits
