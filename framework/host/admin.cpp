#include "host/admin.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <spotmesh/limits.hpp>

#include "host/admin_access.hpp"
#include "host/admin_json.hpp"
#include "host/admin_metrics.hpp"
#include "host/duration_text.hpp"
#include "node/node_metrics.hpp"
#include "objects/core.hpp"
#include "objects/forced_end.hpp"
#include "objects/inspection.hpp"

namespace spotmesh::host {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_stop_deadline = std::chrono::minutes(10);
constexpr std::string_view places =
    "there are /healthz, /readyz, /metrics, /v1/cluster, /v1/actors, /v1/actors/{id}, /v1/spots, "
    "/v1/sessions, /v1/end/actors/{id} and /v1/shutdown";

net::HttpResponse json_response(unsigned status, std::string body) {
  // What was true a moment ago is not to be shown again.
  return {.status = status,
          .content_type = "application/json; charset=utf-8",
          .body = std::move(body),
          .headers = {{"Cache-Control", "no-store"}}};
}

net::HttpResponse error_response(unsigned status, std::string_view text) {
  return json_response(status, error_json(text));
}

objects::Inspection inspection_of(const node::Node& node) {
  return objects::Inspection(node.objects().core());
}

net::HttpResponse metrics_response(const node::Node& node,
                                   const std::vector<objects::CensusRow>* census) {
  std::vector<node::MetricFamily> families = process_metrics();
  families.push_back({"spotmesh_mesh_node_responsive",
                      "1 when the node's control plane answers in time",
                      false,
                      {{{}, census != nullptr ? 1.0 : 0.0}}});
  for (auto& family : node::metrics_of(node)) families.push_back(std::move(family));
  if (census != nullptr) {
    for (auto& family : node::metrics_of(*census)) families.push_back(std::move(family));
  }
  return {.status = 200,
          .content_type = prometheus_text,
          .body = as_prometheus_text(families),
          .headers = {{"Cache-Control", "no-store"}}};
}

// The path up to an id, as it stands in the table of routes.
std::string joined(const std::vector<std::string>& path, std::size_t segments) {
  std::string text;
  for (std::size_t i = 0; i < segments; ++i) text += "/" + path[i];
  return text;
}

}  // namespace

Admin::Admin(AdminSeams seams, std::string token)
    : seams_(std::move(seams)), token_(std::move(token)) {}

const Admin::Route* Admin::route_of(const AdminTarget& target) {
  static constexpr std::array routes{
      Route{"/healthz", false, "GET", &Admin::serve_health},
      Route{"/readyz", false, "GET", &Admin::serve_readiness},
      Route{"/metrics", false, "GET", &Admin::serve_metrics},
      Route{"/v1/cluster", false, "GET", &Admin::serve_cluster},
      Route{"/v1/actors", false, "GET", &Admin::serve_actors},
      Route{"/v1/actors", true, "GET", &Admin::serve_actor},
      Route{"/v1/spots", false, "GET", &Admin::serve_spots},
      Route{"/v1/sessions", false, "GET", &Admin::serve_sessions},
      Route{"/v1/end/actors", true, "POST", &Admin::serve_end_actor},
      Route{"/v1/shutdown", false, "POST", &Admin::serve_shutdown},
  };
  for (const Route& route : routes) {
    const std::size_t segments = target.path.size();
    if (route.takes_id && segments == 0) continue;
    if (joined(target.path, route.takes_id ? segments - 1 : segments) == route.path) return &route;
  }
  return nullptr;
}

void Admin::on_request(const net::RequestHead& request, Exchange exchange) {
  if (const auto refused = judge_admin_access(request, token_)) {
    seams_.log.write(LogLevel::Warning, "admin", "a request was refused",
                     {{"client", exchange->remote_address()},
                      {"status", std::to_string(refused->status)},
                      {"reason", refused->text}});
    net::HttpResponse response = error_response(refused->status, refused->text);
    if (refused->status == 401) {
      response.headers.push_back({"WWW-Authenticate", "Bearer realm=\"spotmesh\""});
    }
    return exchange->respond(std::move(response));
  }
  const auto target = parse_admin_target(request.target);
  if (!target) return exchange->respond(error_response(400, target.error().message()));
  const Route* route = route_of(*target);
  if (route == nullptr) {
    return exchange->respond(
        error_response(404, fmt::format("there is nothing at this path; {}", places)));
  }
  const bool is_get = route->method == "GET";
  if (request.method != route->method && !(is_get && request.method == "HEAD")) {
    net::HttpResponse response = error_response(
        405, fmt::format("{} takes {} alone", route->path, is_get ? "GET and HEAD" : "POST"));
    response.headers.push_back({"Allow", is_get ? "GET, HEAD" : "POST"});
    return exchange->respond(std::move(response));
  }
  (this->*route->serve)(*target, exchange);
}

net::HttpResponse Admin::on_no_answer(const net::RequestHead& request) {
  // Most wanted when nothing else can be had.
  if (request.path() == "/metrics") return metrics_response(seams_.node, nullptr);
  return error_response(
      503, fmt::format("node {} has not answered in time: its worker threads are stuck or "
                       "overloaded, or it has stopped; its state is {}",
                       seams_.node.identity().rid.text, to_string(seams_.node.state())));
}

net::HttpResponse Admin::refusal(unsigned status, std::string_view text) {
  return error_response(status, text);
}

// Alive: the node's control plane answers, whatever it is about.
void Admin::serve_health(const AdminTarget&, const Exchange& exchange) {
  inspection_of(seams_.node).ping([exchange, &node = seams_.node] {
    const bool is_well = node.state() != node::NodeState::Error;
    exchange->respond(
        json_response(is_well ? 200 : 503, status_json(node, is_well ? "ok" : "failed")));
  });
}

void Admin::serve_readiness(const AdminTarget&, const Exchange& exchange) {
  inspection_of(seams_.node).ping([exchange, &node = seams_.node] {
    if (node.state() != node::NodeState::Serving) {
      return exchange->respond(json_response(503, status_json(node, "not ready")));
    }
    // Nothing that a client asks is answered until the store is back.
    if (!node.is_admitted()) {
      return exchange->respond(json_response(503, status_json(node, "the lease has run out")));
    }
    // Nor is anything created for him where no Actor can begin; only a restart mends that.
    if (const auto mesh = inspection_of(node).mesh_without_entry_spot()) {
      return exchange->respond(json_response(
          503, status_json(node, fmt::format("it has lost its Entry Spot of mesh '{}'", *mesh))));
    }
    exchange->respond(json_response(200, status_json(node, "ready")));
  });
}

void Admin::serve_metrics(const AdminTarget&, const Exchange& exchange) {
  inspection_of(seams_.node)
      .census([exchange, &node = seams_.node](const std::vector<objects::CensusRow>& census) {
        exchange->respond(metrics_response(node, &census));
      });
}

void Admin::serve_cluster(const AdminTarget& target, const Exchange& exchange) {
  if (const auto allowed = allow_parameters(target, {}); !allowed) {
    return exchange->respond(error_response(400, allowed.error().message()));
  }
  inspection_of(seams_.node)
      .nodes([exchange, &node = seams_.node](const std::vector<objects::NodeRow>& nodes) {
        exchange->respond(json_response(200, cluster_json(node, nodes)));
      });
}

void Admin::serve_actors(const AdminTarget& target, const Exchange& exchange) {
  auto wanted = page_wanted(target, PageOf::Actors);
  if (!wanted) return exchange->respond(error_response(400, wanted.error().message()));
  inspection_of(seams_.node)
      .actors(*std::move(wanted),
              [exchange, &node = seams_.node](const objects::Page<objects::ActorRow>& page) {
                exchange->respond(json_response(200, page_json(node.identity().rid, page)));
              });
}

void Admin::serve_actor(const AdminTarget& target, const Exchange& exchange) {
  if (const auto allowed = allow_parameters(target, {}); !allowed) {
    return exchange->respond(error_response(400, allowed.error().message()));
  }
  const auto id = ActorId::parse(target.path.back());
  if (!id) return exchange->respond(error_response(400, id.error().message()));
  objects::PageWanted wanted;
  wanted.id = id->text();
  inspection_of(seams_.node)
      .actors(std::move(wanted), [exchange, id = *id, &node = seams_.node](
                                     const objects::Page<objects::ActorRow>& page) {
        if (!page.rows.empty()) {
          return exchange->respond(json_response(200, actor_json(page.rows.front())));
        }
        exchange->respond(error_response(404, fmt::format("Actor '{}' does not live on node {}",
                                                          id.text(), node.identity().rid.text)));
      });
}

void Admin::serve_spots(const AdminTarget& target, const Exchange& exchange) {
  auto wanted = page_wanted(target, PageOf::Spots);
  if (!wanted) return exchange->respond(error_response(400, wanted.error().message()));
  inspection_of(seams_.node)
      .spots(*std::move(wanted),
             [exchange, &node = seams_.node](const objects::Page<objects::SpotRow>& page) {
               exchange->respond(json_response(200, page_json(node.identity().rid, page)));
             });
}

void Admin::serve_sessions(const AdminTarget& target, const Exchange& exchange) {
  auto wanted = page_wanted(target, PageOf::Sessions);
  if (!wanted) return exchange->respond(error_response(400, wanted.error().message()));
  const stream::StreamServer* stream = seams_.node.stream();
  if (stream == nullptr) {
    return exchange->respond(json_response(
        200, page_json(seams_.node.identity().rid, objects::Page<stream::SessionRow>())));
  }
  stream->inspect(*std::move(wanted),
                  [exchange, &node = seams_.node](const objects::Page<stream::SessionRow>& page) {
                    exchange->respond(json_response(200, page_json(node.identity().rid, page)));
                  });
}

void Admin::serve_end_actor(const AdminTarget& target, const Exchange& exchange) {
  if (const auto allowed = allow_parameters(target, {}); !allowed) {
    return exchange->respond(error_response(400, allowed.error().message()));
  }
  const auto id = ActorId::parse(target.path.back());
  if (!id) return exchange->respond(error_response(400, id.error().message()));
  seams_.log.write(LogLevel::Warning, "admin", "an Actor was told to end",
                   {{"client", exchange->remote_address()}, {"actor", id->text()}});
  objects::Core& core = seams_.node.objects().core();
  core.strand.post([&core, id = *id, exchange, &node = seams_.node] {
    objects::end_by_force(
        core, id, core.now() + limits::default_operation_timeout,
        [id, exchange, &node](Result<void> ended) {
          if (ended) return exchange->respond(json_response(200, status_json(node, "ended")));
          const bool is_unknown = ended.error().kind() == ErrorKind::NotFound;
          exchange->respond(error_response(is_unknown ? 404 : 503, ended.error().message()));
        });
  });
}

void Admin::serve_shutdown(const AdminTarget& target, const Exchange& exchange) {
  if (const auto allowed = allow_parameters(target, {"deadline"}); !allowed) {
    return exchange->respond(error_response(400, allowed.error().message()));
  }
  std::optional<Duration> deadline;
  if (const auto given = target.query.find("deadline"); given != target.query.end()) {
    const auto parsed = parse_duration(given->second);
    if (!parsed || *parsed > longest_stop_deadline) {
      return exchange->respond(
          error_response(400, fmt::format("deadline is a duration such as \"30s\", of at most {}",
                                          format_duration(longest_stop_deadline))));
    }
    deadline = *parsed;
  }
  seams_.log.write(LogLevel::Info, "admin", "the node was told to shut down",
                   {{"client", exchange->remote_address()}});
  // The answer first: the process may end at once.
  exchange->respond(json_response(202, status_json(seams_.node, "shutting down")));
  seams_.shut_down(deadline);
}

}  // namespace spotmesh::host
