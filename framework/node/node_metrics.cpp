#include "node/node_metrics.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

namespace spotmesh::node {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// One count and its place in a family.
struct Entry {
  std::string_view name;
  std::string_view help;
  bool is_counter;
  std::pair<std::string_view, std::string_view> label;  // empty: none
  std::int64_t value;
};

// Entries of one family follow each other.
void add(std::vector<MetricFamily>& families, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (families.empty() || families.back().name != entry.name) {
      families.push_back({std::string(entry.name), std::string(entry.help), entry.is_counter, {}});
    }
    Labels labels;
    if (!entry.label.first.empty()) labels.emplace_back(entry.label.first, entry.label.second);
    families.back().samples.push_back({std::move(labels), static_cast<double>(entry.value)});
  }
}

void add_state(std::vector<MetricFamily>& families, const Node& node) {
  constexpr std::array states{NodeState::Idle,     NodeState::Preparing, NodeState::Serving,
                              NodeState::Draining, NodeState::Stopped,   NodeState::Error};
  std::vector<Entry> entries;
  for (const NodeState state : states) {
    entries.push_back({"spotmesh_mesh_node_state",
                       "1 for the state that the node is in",
                       false,
                       {"state", to_string(state)},
                       node.state() == state ? 1 : 0});
  }
  entries.push_back({"spotmesh_mesh_node_admitted",
                     "1 while the node's lease lets turns run",
                     false,
                     {},
                     node.is_admitted() ? 1 : 0});
  add(families, entries);
}

void add_dispatch(std::vector<MetricFamily>& families, const objects::Metrics& m) {
  constexpr std::string_view name = "spotmesh_object_dispatch_total";
  constexpr std::string_view help = "messages to Actors and Spots, by what became of them";
  add(families,
      {
          {name, help, true, {"result", "handled"}, m.handled.value()},
          {name, help, true, {"result", "handler_error"}, m.handler_errors.value()},
          {name, help, true, {"result", "handler_throw"}, m.handler_throws.value()},
          {name, help, true, {"result", "no_handler"}, m.no_handler.value()},
          {name, help, true, {"result", "decode_failure"}, m.decode_failures.value()},
          {name, help, true, {"result", "unencodable_reply"}, m.unencodable_replies.value()},
          {name, help, true, {"result", "expired"}, m.expired_requests.value()},
          {name, help, true, {"result", "refused"}, m.refused_messages.value()},
      });
}

void add_objects(std::vector<MetricFamily>& families, const objects::Metrics& m) {
  constexpr std::string_view in_flight = "spotmesh_mesh_node_requests_inflight";
  constexpr std::string_view in_flight_help = "requests of this node that wait for their reply";
  add(families, {
                    {in_flight,
                     in_flight_help,
                     false,
                     {"surface", "actor"},
                     m.requests_in_flight.actor.value()},
                    {in_flight,
                     in_flight_help,
                     false,
                     {"surface", "spot"},
                     m.requests_in_flight.spot.value()},
                    {"spotmesh_object_late_replies_total",
                     "replies to requests that were over",
                     true,
                     {},
                     m.late_replies.value()},
                    {"spotmesh_object_stale_refused_total",
                     "session payload and unbinds of a binding that is no longer the present one",
                     true,
                     {},
                     m.stale_refused.value()},
                    {"spotmesh_object_stale_routes_total",
                     "messages of other nodes for whom is not here",
                     true,
                     {},
                     m.stale_routes.value()},
                    {"spotmesh_object_undelivered_sends_total",
                     "one-way messages whose receiver was looked for and not found",
                     true,
                     {},
                     m.undelivered_sends.value()},
                });
}

void add_object_events(std::vector<MetricFamily>& families, const objects::Metrics& m) {
  add(families, {
                    {"spotmesh_object_publications_total",
                     "messages published here",
                     true,
                     {},
                     m.publications.value()},
                    {"spotmesh_object_publication_copies_total",
                     "of them, sent to other nodes",
                     true,
                     {},
                     m.publication_copies.value()},
                    {"spotmesh_object_missed_publications_total",
                     "copies for which a mailbox, or the way to a node, had no room",
                     true,
                     {},
                     m.missed_publications.value()},
                    {"spotmesh_object_callback_throws_total",
                     "lifecycle callbacks and timers that threw an exception",
                     true,
                     {},
                     m.callback_throws.value()},
                    {"spotmesh_object_stuck_turns_total",
                     "turns that lasted longer than the warning time",
                     true,
                     {},
                     m.stuck_turns.value()},
                    {"spotmesh_object_unsound_peer_messages_total",
                     "messages of other nodes that break the protocol",
                     true,
                     {},
                     m.unsound_peer_messages.value()},
                    {"spotmesh_object_unsent_answers_total",
                     "answers to other nodes for which their lane had no room",
                     true,
                     {},
                     m.unsent_answers.value()},
                });
}

void add_store(std::vector<MetricFamily>& families, const objects::Metrics& m) {
  constexpr std::string_view operations = "spotmesh_store_operations_total";
  constexpr std::string_view operations_help = "calls of the Location Store";
  constexpr std::string_view checkpoints = "spotmesh_store_checkpoints_total";
  constexpr std::string_view checkpoints_help = "checkpoints of Actors";
  add(families,
      {
          {operations, operations_help, true, {"operation", "read"}, m.store_reads.value()},
          {operations, operations_help, true, {"operation", "commit"}, m.store_commits.value()},
          {checkpoints,
           checkpoints_help,
           true,
           {"result", "written"},
           m.checkpoints_written.value()},
          {checkpoints, checkpoints_help, true, {"result", "failed"}, m.checkpoints_failed.value()},
          {"spotmesh_store_quarantined_records_total",
           "records of the Location Store that do not parse",
           true,
           {},
           m.quarantined_records.value()},
          {"spotmesh_store_reasserted_objects_total",
           "objects that were written again after the store had forgotten",
           true,
           {},
           m.reasserted_objects.value()},
          {"spotmesh_store_stepped_down_objects_total",
           "objects that were given up after the store had forgotten",
           true,
           {},
           m.stepped_down_objects.value()},
      });
}

void add_mesh(std::vector<MetricFamily>& families, const mesh::MeshMetrics& m) {
  constexpr std::string_view messages = "spotmesh_mesh_messages_total";
  constexpr std::string_view messages_help = "messages between this node and others";
  constexpr std::string_view frames = "spotmesh_mesh_frames_total";
  constexpr std::string_view frames_help = "frames between this node and others";
  add(families,
      {
          {"spotmesh_mesh_sessions", "sessions with other nodes", false, {}, m.sessions.value()},
          {"spotmesh_mesh_links", "of them, connected", false, {}, m.links.value()},
          {"spotmesh_mesh_dials_total",
           "connections that this node has asked for",
           true,
           {},
           m.dials.value()},
          {"spotmesh_mesh_cuts_total",
           "connections that have ended, whyever",
           true,
           {},
           m.cuts.value()},
          {messages, messages_help, true, {"direction", "sent"}, m.messages_sent.value()},
          {messages, messages_help, true, {"direction", "taken"}, m.messages_taken.value()},
          {frames, frames_help, true, {"direction", "sent"}, m.frames_sent.value()},
          {frames, frames_help, true, {"direction", "resent"}, m.frames_resent.value()},
          {frames, frames_help, true, {"direction", "taken"}, m.frames_taken.value()},
          {"spotmesh_mesh_duplicates_dropped_total",
           "frames that came a second time",
           true,
           {},
           m.duplicates_dropped.value()},
          {"spotmesh_mesh_refused_sends_total",
           "messages that no lane took",
           true,
           {},
           m.refused_sends.value()},
          {"spotmesh_mesh_refused_handshakes_total",
           "handshakes that either side refused",
           true,
           {},
           m.refused_handshakes.value()},
      });
}

void add_sessions(std::vector<MetricFamily>& families, const stream::StreamMetrics& m) {
  constexpr std::string_view closed = "spotmesh_stream_sessions_closed_total";
  constexpr std::string_view closed_help = "sessions that have ended, by why";
  add(families,
      {
          {"spotmesh_stream_sessions", "client sessions", false, {}, m.sessions.value()},
          {"spotmesh_stream_sessions_opened_total",
           "client sessions that have begun",
           true,
           {},
           m.sessions_opened.value()},
          {"spotmesh_stream_sessions_refused_total",
           "clients that were turned away because the gateway was full",
           true,
           {},
           m.sessions_refused.value()},
          {"spotmesh_stream_addresses_refused_total",
           "clients that were turned away because there were too many of their address",
           true,
           {},
           m.addresses_refused.value()},
          {closed, closed_help, true, {"reason", "client"}, m.closed_by_client.value()},
          {closed, closed_help, true, {"reason", "server"}, m.closed_by_server.value()},
          {closed, closed_help, true, {"reason", "replaced"}, m.closed_replaced.value()},
          {closed, closed_help, true, {"reason", "lost"}, m.closed_lost.value()},
          {closed, closed_help, true, {"reason", "protocol"}, m.closed_for_protocol.value()},
          {closed, closed_help, true, {"reason", "slow"}, m.closed_slow.value()},
          {closed, closed_help, true, {"reason", "quota"}, m.closed_over_quota.value()},
          {closed, closed_help, true, {"reason", "shutdown"}, m.closed_for_shutdown.value()},
          {"spotmesh_stream_reading_paused_total",
           "how often a client was no longer read",
           true,
           {},
           m.reading_paused.value()},
          {"spotmesh_stream_held_back_total",
           "how often a client had used up its quota",
           true,
           {},
           m.held_back.value()},
          {"spotmesh_stream_stale_bindings_total",
           "pushes and notices for a binding that is no longer the present one",
           true,
           {},
           m.stale_bindings.value()},
      });
}

void add_traffic(std::vector<MetricFamily>& families, const stream::StreamMetrics& m) {
  constexpr std::string_view bytes = "spotmesh_stream_bytes_total";
  constexpr std::string_view bytes_help = "bytes from and to clients";
  constexpr std::string_view packets = "spotmesh_stream_packets_total";
  constexpr std::string_view packets_help = "packets from and to clients";
  constexpr std::string_view dropped = "spotmesh_stream_pushes_dropped_total";
  constexpr std::string_view dropped_help = "pushes that clients may miss and have missed, by why";
  add(families,
      {
          {bytes, bytes_help, true, {"direction", "in"}, m.bytes_in.value()},
          {bytes, bytes_help, true, {"direction", "out"}, m.bytes_out.value()},
          {packets, packets_help, true, {"kind", "request"}, m.requests_in.value()},
          {packets, packets_help, true, {"kind", "one_way"}, m.one_way_in.value()},
          {packets, packets_help, true, {"kind", "push"}, m.pushes_out.value()},
          {packets, packets_help, true, {"kind", "reply"}, m.replies_out.value()},
          {packets, packets_help, true, {"kind", "error_reply"}, m.error_replies_out.value()},
          {dropped, dropped_help, true, {"reason", "superseded"}, m.pushes_superseded.value()},
          {dropped, dropped_help, true, {"reason", "stale"}, m.pushes_stale.value()},
          {"spotmesh_stream_pushes_encoded_total",
           "encodings of pushes; a broadcast has one for many pushes",
           true,
           {},
           m.pushes_encoded.value()},
      });
}

void add_session_dispatch(std::vector<MetricFamily>& families, const stream::StreamMetrics& m) {
  constexpr std::string_view name = "spotmesh_stream_dispatch_total";
  constexpr std::string_view help = "packets of clients, by what became of them";
  add(families, {
                    {name, help, true, {"result", "handled"}, m.handled.value()},
                    {name, help, true, {"result", "relayed"}, m.relayed.value()},
                    {name, help, true, {"result", "handler_error"}, m.handler_errors.value()},
                    {name, help, true, {"result", "handler_throw"}, m.handler_throws.value()},
                    {name, help, true, {"result", "no_handler"}, m.no_handler.value()},
                    {name, help, true, {"result", "unknown_packet"}, m.unknown_packets.value()},
                    {name, help, true, {"result", "decode_failure"}, m.undecodable.value()},
                    {name, help, true, {"result", "over_in_flight"}, m.over_in_flight.value()},
                    {name, help, true, {"result", "expired"}, m.expired_requests.value()},
                    {name, help, true, {"result", "dropped"}, m.dropped_packets.value()},
                    {"spotmesh_stream_late_replies_total",
                     "replies that came after the client's deadline",
                     true,
                     {},
                     m.late_replies.value()},
                    {"spotmesh_stream_orphaned_replies_total",
                     "replies that came after the session had ended",
                     true,
                     {},
                     m.orphaned_replies.value()},
                });
}

MetricFamily gauge(std::string name, std::string help) {
  return {std::move(name), std::move(help), false, {}};
}

}  // namespace

std::vector<MetricFamily> metrics_of(const Node& node) {
  std::vector<MetricFamily> families;
  add_state(families, node);
  const objects::Metrics& objects = node.objects().metrics();
  add_dispatch(families, objects);
  add_objects(families, objects);
  add_object_events(families, objects);
  add_store(families, objects);
  if (const auto* mesh = node.mesh_metrics()) add_mesh(families, *mesh);
  if (const auto* stream = node.stream()) {
    add_sessions(families, stream->metrics());
    add_traffic(families, stream->metrics());
    add_session_dispatch(families, stream->metrics());
  }
  return families;
}

std::vector<MetricFamily> metrics_of(const std::vector<objects::CensusRow>& census) {
  MetricFamily objects = gauge("spotmesh_objects", "Actors and Spots");
  MetricFamily bound = gauge("spotmesh_actors_bound", "Actors with a session");
  MetricFamily moving = gauge("spotmesh_objects_in_transition",
                              "Actors in a Join or ending; of Spots, Joins and departures");
  MetricFamily jobs = gauge("spotmesh_mailbox_jobs", "jobs that wait in mailboxes");
  MetricFamily longest =
      gauge("spotmesh_mailbox_longest_jobs", "application jobs in the longest mailbox");
  MetricFamily running = gauge("spotmesh_turns_running", "turns in progress");
  MetricFamily oldest = gauge("spotmesh_turn_oldest_seconds", "age of the oldest turn in progress");
  for (const objects::CensusRow& row : census) {
    const Labels labels{
        {"mesh", row.mesh}, {"kind", row.is_spot ? "spot" : "actor"}, {"type", row.type}};
    const auto with = [&](std::string name, std::string value) {
      Labels more = labels;
      more.emplace_back(std::move(name), std::move(value));
      return more;
    };
    const auto sample = [&](MetricFamily& family, std::uint64_t value) {
      family.samples.push_back({labels, static_cast<double>(value)});
    };
    sample(objects, row.objects);
    if (!row.is_spot) sample(bound, row.bound);
    sample(moving, row.in_transition);
    jobs.samples.push_back(
        {with("lane", "application"), static_cast<double>(row.application_jobs)});
    jobs.samples.push_back({with("lane", "control"), static_cast<double>(row.control_jobs)});
    sample(longest, row.longest_application);
    sample(running, row.running);
    oldest.samples.push_back({labels, std::chrono::duration<double>(row.oldest_turn).count()});
  }
  return {std::move(objects), std::move(bound),   std::move(moving), std::move(jobs),
          std::move(longest), std::move(running), std::move(oldest)};
}

}  // namespace spotmesh::node
