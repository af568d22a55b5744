#include "host/admin_json.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

#include "host/admin_target.hpp"
#include "host/json_writer.hpp"
#include "objects/core.hpp"
#include "objects/descriptor_publisher.hpp"

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

void write_row(JsonWriter& json, const NodeRid& node, const stream::SessionRow& session) {
  json.begin_object();
  json.field("id", to_string(session.id));
  json.field("node", node.text);
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

void write_meshes(JsonWriter& json, const location::NodeDescriptor& node) {
  json.begin_array("meshes");
  for (const location::MeshPart& part : node.meshes) write_mesh(json, part);
  json.end_array();
}

void write_row(JsonWriter& json, const objects::CensusRow& row) {
  json.begin_object();
  json.field("mesh", row.mesh);
  json.field("kind", row.is_spot ? "Spot" : "Actor");
  json.field("type", row.type);
  json.field("objects", row.objects);
  json.field("bound", row.bound);
  json.field("in_transition", row.in_transition);
  json.field("running", row.running);
  json.field("application_jobs", row.application_jobs);
  json.field("control_jobs", row.control_jobs);
  json.field("longest_application", row.longest_application);
  json.field("oldest_turn_ms", duration_cast<milliseconds>(row.oldest_turn).count());
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
  return json.take_value();
}

std::string row_json(const objects::ActorRow& actor) {
  JsonWriter json;
  write_row(json, actor);
  return json.take_value();
}

std::string row_json(const objects::SpotRow& spot) {
  JsonWriter json;
  write_row(json, spot);
  return json.take_value();
}

std::string row_json(const NodeRid& node, const stream::SessionRow& session) {
  JsonWriter json;
  write_row(json, node, session);
  return json.take_value();
}

std::string row_json(const objects::CensusRow& all_of_a_type) {
  JsonWriter json;
  write_row(json, all_of_a_type);
  return json.take_value();
}

std::string self_json(const node::Node& node) {
  JsonWriter json;
  json.begin_object();
  json.field("state", node::to_string(node.state()));
  if (node.stream() != nullptr) {
    json.field("sessions", node.stream()->session_count());
  } else {
    json.null_field("sessions");
  }
  json.field("is_admitted", node.is_admitted());
  write_meshes(json, objects::describe(node.objects().core()));
  json.end_object();
  return json.take_value();
}

Result<SelfFacts> read_self(std::string_view json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  const auto wrong = [] {
    return fail(Error::internal_failure("what the node says of itself is none of the kind"));
  };
  if (!parsed.is_object()) return wrong();
  const auto state = parsed.find("state");
  const auto is_admitted = parsed.find("is_admitted");
  const auto sessions = parsed.find("sessions");
  if (state == parsed.end() || !state->is_string()) return wrong();
  if (is_admitted == parsed.end() || !is_admitted->is_boolean()) return wrong();
  const auto meshes = parsed.find("meshes");
  if (meshes == parsed.end() || !meshes->is_array()) return wrong();
  // Escaped, so that it stays as harmless as it came.
  SelfFacts facts{
      state->get<std::string>(), {}, is_admitted->get<bool>(), meshes->dump(-1, ' ', true)};
  if (sessions != parsed.end() && sessions->is_number_unsigned()) {
    facts.sessions = sessions->get<std::uint64_t>();
  }
  return facts;
}

std::string row_json(const objects::NodeRow& row, const Result<SelfFacts>& facts) {
  const location::NodeDescriptor& node = row.descriptor;
  JsonWriter json;
  json.begin_object();
  json.field("node", node.stamp.rid.text);
  json.field("lifecycle", to_string(node.stamp.lifecycle));
  json.field("is_self", row.is_self);
  json.field("is_reachable", row.is_reachable);
  json.field("has_answered", facts.has_value());
  if (facts) {
    json.null_field("reason");
  } else {
    json.field("reason", facts.error().message());
  }
  json.field("state", facts ? std::string_view(facts->state) : objects::name_of(node.state));
  json.field("version", node.application_version);
  json.field("address", node.advertised_address);
  json.field("is_stream_gateway", node.is_stream_gateway);
  if (facts && facts->sessions) {
    json.field("sessions", *facts->sessions);
  } else {
    json.null_field("sessions");
  }
  if (facts) {
    json.field("is_admitted", facts->is_admitted);
  } else {
    json.null_field("is_admitted");
  }
  if (facts) {
    json.raw_field("meshes", facts->meshes);
  } else {
    write_meshes(json, node);
  }
  json.end_object();
  return json.take_value();
}

std::string cluster_json(const NodeRid& asked, const std::vector<objects::NodeRow>& nodes,
                         const std::vector<Result<objects::InquiryAnswer>>& facts) {
  JsonWriter json;
  json.begin_object();
  json.field("node", asked.text);
  json.begin_array("nodes");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!facts[i]) {
      json.raw(row_json(nodes[i], fail(facts[i].error())));
    } else {
      const auto& rows = facts[i]->rows;
      json.raw(row_json(nodes[i], read_self(rows.empty() ? std::string() : rows.front())));
    }
  }
  json.end_array();
  json.end_object();
  return json.take();
}

std::string page_json(const NodeRid& node, std::string_view name, const ListPage& page) {
  JsonWriter json;
  json.begin_object();
  json.field("node", node.text);
  json.begin_array(name);
  for (const std::string& row : page.rows) json.raw(row);
  json.end_array();
  json.begin_array("unanswered");
  for (const Unanswered& each : page.unanswered) {
    json.begin_object();
    json.field("node", each.node.text);
    json.field("reason", each.reason);
    json.end_object();
  }
  json.end_array();
  if (page.next) {
    json.field("next", *page.next);
  } else {
    json.null_field("next");
  }
  json.end_object();
  return json.take();
}

}  // namespace spotmesh::host
