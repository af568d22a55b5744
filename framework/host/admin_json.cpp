#include "host/admin_json.hpp"

#include <chrono>

#include "host/admin_target.hpp"
#include "host/json_writer.hpp"

namespace spotmesh::host {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

std::string_view state_text(objects::CellState state) {
  switch (state) {
    case objects::CellState::Creating:
      return "Creating";
    case objects::CellState::Ready:
      return "Ready";
    case objects::CellState::Ending:
      return "Ending";
    case objects::CellState::Gone:
      return "Gone";
  }
  return "unknown";
}

std::string_view state_text(location::HostState state) {
  switch (state) {
    case location::HostState::Preparing:
      return "Preparing";
    case location::HostState::Serving:
      return "Serving";
    case location::HostState::Relocating:
      return "Relocating";
    case location::HostState::Relocated:
      return "Relocated";
    case location::HostState::Draining:
      return "Draining";
    case location::HostState::Stopped:
      return "Stopped";
    case location::HostState::Error:
      return "Error";
  }
  return "unknown";
}

void write_mailbox(JsonWriter& json, const objects::MailboxRow& mailbox) {
  json.begin_object("mailbox");
  json.field("application", mailbox.backlog.application);
  json.field("control", mailbox.backlog.control);
  json.field("is_held", mailbox.backlog.is_held);
  json.field("is_claimed", mailbox.backlog.is_claimed);
  if (mailbox.running) {
    json.begin_object("turn");
    json.field("for", mailbox.running->what);
    json.field("age_ms", duration_cast<milliseconds>(mailbox.running->age).count());
    json.end_object();
  } else {
    json.null_field("turn");
  }
  json.end_object();
}

void write_row(JsonWriter& json, const objects::ActorRow& actor) {
  json.begin_object();
  json.field("id", actor.ref.actor_id.text());
  json.field("type", actor.type);
  json.field("mesh", actor.ref.mesh_name);
  json.field("node", actor.ref.node_rid.text);
  json.exact_field("object_generation", actor.ref.object_generation.value);
  json.exact_field("owner_generation", actor.owner_generation.value);
  json.field("state", state_text(actor.state));
  json.field("is_in_transition", actor.is_in_transition);
  if (actor.spot) {
    json.begin_object("spot");
    json.field("id", actor.spot->spot_id.text());
    json.field("type", actor.spot_type);
    json.exact_field("object_generation", actor.spot->object_generation.value);
    json.end_object();
  } else {
    json.null_field("spot");
  }
  if (actor.binding) {
    json.begin_object("binding");
    json.field("session", to_string(actor.binding->session));
    json.field("node", actor.binding->session_node.text);
    json.exact_field("generation", actor.binding->generation);
    json.end_object();
  } else {
    json.null_field("binding");
  }
  write_mailbox(json, actor.mailbox);
  json.end_object();
}

void write_row(JsonWriter& json, const objects::SpotRow& spot) {
  json.begin_object();
  json.field("id", spot.ref.spot_id.text());
  json.field("type", spot.type);
  json.field("kind", spot.is_entry_spot ? "EntrySpot" : "UserSpot");
  json.field("execution", spot.shares_gate ? "SpotWide" : "PerActor");
  json.field("mesh", spot.ref.mesh_name);
  json.field("node", spot.ref.node_rid.text);
  json.exact_field("object_generation", spot.ref.object_generation.value);
  json.field("state", state_text(spot.state));
  json.field("members", spot.members);
  json.field("transitions", spot.transitions);
  write_mailbox(json, spot.mailbox);
  json.end_object();
}

void write_row(JsonWriter& json, const stream::SessionRow& session) {
  json.begin_object();
  json.field("id", to_string(session.id));
  json.field("type", session.gateway);
  json.field("state", to_string(session.state));
  json.field("remote_address", session.remote_address);
  json.begin_array("actors");
  for (const ActorRef& actor : session.actors) {
    json.begin_object();
    json.field("id", actor.actor_id.text());
    json.field("mesh", actor.mesh_name);
    json.field("node", actor.node_rid.text);
    json.end_object();
  }
  json.end_array();
  json.field("queued_packets", session.queued_packets);
  json.field("unanswered_requests", session.unanswered_requests);
  json.field("unsent_bytes", session.unsent_bytes);
  json.end_object();
}

template <typename Row>
std::string write_page(const NodeRid& node, std::string_view name, const objects::Page<Row>& page) {
  JsonWriter json;
  json.begin_object();
  json.field("node", node.text);
  json.begin_array(name);
  for (const Row& row : page.rows) write_row(json, row);
  json.end_array();
  if (page.next) {
    json.field("next", cursor_text(*page.next));
  } else {
    json.null_field("next");
  }
  json.end_object();
  return json.take();
}

void write_load(JsonWriter& json, std::string_view name, const location::CapacityHint& load) {
  json.begin_object(name);
  json.field("active", load.active);
  json.field("pending", load.pending);
  if (load.limit == 0) {
    json.null_field("limit");
  } else {
    json.field("limit", load.limit);
  }
  json.end_object();
}

void write_mesh(JsonWriter& json, const location::MeshPart& part) {
  json.begin_object();
  json.field("mesh", part.mesh);
  json.field("is_object_server", part.is_object_server);
  json.field("is_object_client", part.is_object_client);
  json.field("weight", part.weight);
  write_load(json, "actors", part.actors);
  write_load(json, "spots", part.spots);
  json.begin_array("actor_types");
  for (const StableType& type : part.actor_types) json.text(type.text());
  json.end_array();
  json.begin_array("spot_types");
  for (const location::SpotTypeHint& type : part.spot_types) {
    json.begin_object();
    json.field("type", type.name.text());
    json.field("taken", type.taken);
    if (type.limit == 0) {
      json.null_field("limit");
    } else {
      json.field("limit", type.limit);
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_node(JsonWriter& json, const node::Node& self, const objects::NodeRow& row) {
  const location::NodeDescriptor& node = row.descriptor;
  json.begin_object();
  json.field("node", node.stamp.rid.text);
  json.field("lifecycle", to_string(node.stamp.lifecycle));
  json.field("is_self", row.is_self);
  json.field("is_reachable", row.is_reachable);
  json.field("state", row.is_self ? node::to_string(self.state()) : state_text(node.state));
  json.field("version", node.application_version);
  json.field("address", node.advertised_address);
  json.field("is_stream_gateway", node.is_stream_gateway);
  if (row.is_self && self.stream() != nullptr) {
    json.field("sessions", self.stream()->session_count());
  } else {
    json.null_field("sessions");
  }
  json.begin_array("meshes");
  for (const location::MeshPart& part : node.meshes) write_mesh(json, part);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string error_json(std::string_view text) {
  JsonWriter json;
  json.begin_object();
  json.field("error", text);
  json.end_object();
  return json.take();
}

std::string status_json(const node::Node& node, std::string_view status) {
  JsonWriter json;
  json.begin_object();
  json.field("status", status);
  json.field("node", node.identity().rid.text);
  json.field("state", node::to_string(node.state()));
  json.end_object();
  return json.take();
}

std::string cluster_json(const node::Node& node, const std::vector<objects::NodeRow>& nodes) {
  JsonWriter json;
  json.begin_object();
  json.field("node", node.identity().rid.text);
  json.begin_array("nodes");
  for (const objects::NodeRow& row : nodes) write_node(json, node, row);
  json.end_array();
  json.end_object();
  return json.take();
}

std::string page_json(const NodeRid& node, const objects::Page<objects::ActorRow>& page) {
  return write_page(node, "actors", page);
}

std::string page_json(const NodeRid& node, const objects::Page<objects::SpotRow>& page) {
  return write_page(node, "spots", page);
}

std::string page_json(const NodeRid& node, const objects::Page<stream::SessionRow>& page) {
  return write_page(node, "sessions", page);
}

std::string actor_json(const objects::ActorRow& actor) {
  JsonWriter json;
  write_row(json, actor);
  return json.take();
}

}  // namespace spotmesh::host
