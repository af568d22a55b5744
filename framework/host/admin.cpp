#include "host/admin.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "host/admin_access.hpp"
#include "host/admin_json.hpp"
#include "host/admin_metrics.hpp"
#include "host/cluster_list.hpp"
#include "host/event_socket.hpp"
#include "host/why.hpp"
#include "node/node_metrics.hpp"
#include "objects/core.hpp"
#include "objects/inspection.hpp"

namespace spotmesh::host {
namespace {

// Within which what is asked of other nodes is answered: before the server's own answer_time.
constexpr auto cluster_answer_time = std::chrono::seconds(4);
constexpr std::string_view places =
    "there are /healthz, /readyz, /metrics, /v1/cluster, /v1/actors, /v1/actors/{id}, /v1/spots, "
    "/v1/sessions, /v1/events, /v1/why/actors/{id}, /v1/why/sessions/{id}, /v1/end/actors/{id} "
    "and /v1/shutdown";

net::HttpResponse json_response(unsigned status, std::string body) {
  // What was true a moment ago is not to be shown again.
  return {.status = status,
          .content_type = "application/json; charset=utf-8",
          .body = std::move(body),
          .headers = {{"Cache-Control", "no-store"}},
          .tunnel = {}};
}

net::HttpResponse error_response(unsigned status, std::string_view text) {
  return json_response(status, error_json(text));
}

net::HttpResponse error_response(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::NotFound:
      return error_response(404, error.message());
    case ErrorKind::InvalidOperation:
    case ErrorKind::TypeMismatch:
      return error_response(400, error.message());
    default:
      return error_response(503, error.message());
  }
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
          .headers = {{"Cache-Control", "no-store"}},
          .tunnel = {}};
}

// The one row of an answer, as a document.
net::HttpResponse row_response(unsigned status, const ClusterView::Answer& answer) {
  if (!answer) return error_response(answer.error());
  if (answer->rows.empty()) return error_response(404, "it has gone just now");
  if (answer->rows.size() != 1) return error_response(503, "the node's answer is not one row");
  return json_response(status, answer->rows.front() + "\n");
}

}  // namespace

Admin::Admin(OwnSeams seams, std::string token)
    : seams_(std::move(seams)),
      token_(std::move(token)),
      cluster_(seams_.node, std::make_shared<OwnAnswers>(seams_)) {
  seams_.node.objects().core().inquiries->answer_with(
      [cluster = cluster_](const objects::Inquiry& inquiry, Instant deadline,
                           objects::Inquiries::Done done) {
        cluster.own().answer(inquiry, deadline, std::move(done));
      });
}

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
      Route{"/v1/events", false, "GET", &Admin::serve_events},
      Route{"/v1/why/actors", true, "GET", &Admin::serve_why_actor},
      Route{"/v1/why/sessions", true, "GET", &Admin::serve_why_session},
      Route{"/v1/end/actors", true, "POST", &Admin::serve_end_actor},
      Route{"/v1/shutdown", false, "POST", &Admin::serve_shutdown},
  };
  for (const Route& route : routes) {
    if (is_path(target, route.path, route.takes_id)) return &route;
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
  (this->*route->serve)({request, *target, exchange});
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

Instant Admin::deadline() const { return cluster_.core().now() + cluster_answer_time; }

// Alive: the node's control plane answers, whatever it is about.
void Admin::serve_health(const Asked& asked) {
  inspection_of(seams_.node).ping([exchange = asked.exchange, &node = seams_.node] {
    const bool is_well = node.state() != node::NodeState::Error;
    exchange->respond(
        json_response(is_well ? 200 : 503, status_json(node, is_well ? "ok" : "failed") + "\n"));
  });
}

void Admin::serve_readiness(const Asked& asked) {
  inspection_of(seams_.node).ping([exchange = asked.exchange, &node = seams_.node] {
    const auto answer = [&](unsigned status, std::string_view text) {
      exchange->respond(json_response(status, status_json(node, text) + "\n"));
    };
    if (node.state() != node::NodeState::Serving) return answer(503, "not ready");
    // Nothing that a client asks is answered until the store is back.
    if (!node.is_admitted()) return answer(503, "the lease has run out");
    // Nor is anything created for him where no Actor can begin; only a restart mends that.
    if (const auto mesh = inspection_of(node).mesh_without_entry_spot()) {
      return answer(503, fmt::format("it has lost its Entry Spot of mesh '{}'", *mesh));
    }
    answer(200, "ready");
  });
}

void Admin::serve_metrics(const Asked& asked) {
  inspection_of(seams_.node)
      .census([exchange = asked.exchange,
               &node = seams_.node](const std::vector<objects::CensusRow>& census) {
        exchange->respond(metrics_response(node, &census));
      });
}

void Admin::serve_cluster(const Asked& asked) {
  if (const auto allowed = allow_parameters(asked.target, {}); !allowed) {
    return asked.exchange->respond(error_response(400, allowed.error().message()));
  }
  cluster_.nodes([cluster = cluster_, exchange = asked.exchange](ClusterView::Nodes nodes) {
    const Instant deadline = cluster.core().now() + node_answer_time;
    cluster.ask_all(
        std::move(nodes), {"/v1/self", exchange->remote_address()}, deadline,
        [cluster, exchange](const ClusterView::Nodes& nodes,
                            const std::vector<ClusterView::Answer>& answers) {
          exchange->respond(json_response(200, cluster_json(cluster.self(), nodes, answers)));
        });
  });
}

void Admin::serve_list(const Asked& asked, PageOf list) {
  auto wanted = list_wanted(asked.target, list);
  if (!wanted) return asked.exchange->respond(error_response(400, wanted.error().message()));
  list_page(cluster_, *std::move(wanted), asked.exchange->remote_address(), deadline(),
            [exchange = asked.exchange, list, self = cluster_.self()](Result<ListPage> page) {
              if (!page) return exchange->respond(error_response(page.error()));
              exchange->respond(json_response(200, page_json(self, name_of(list), *page)));
            });
}

void Admin::serve_actors(const Asked& asked) { serve_list(asked, PageOf::Actors); }
void Admin::serve_spots(const Asked& asked) { serve_list(asked, PageOf::Spots); }
void Admin::serve_sessions(const Asked& asked) { serve_list(asked, PageOf::Sessions); }

void Admin::ask_owner(const Asked& asked, std::string path) {
  if (const auto allowed = allow_parameters(asked.target, {}); !allowed) {
    return asked.exchange->respond(error_response(400, allowed.error().message()));
  }
  const auto id = ActorId::parse(asked.target.path.back());
  if (!id) return asked.exchange->respond(error_response(400, id.error().message()));
  find_owner(cluster_, *id, deadline(),
             [cluster = cluster_, exchange = asked.exchange, path = std::move(path),
              deadline = deadline()](Result<objects::NodeRow> owner) {
               if (!owner) return exchange->respond(error_response(owner.error()));
               cluster.ask(*owner, {path, exchange->remote_address()}, deadline,
                           [exchange](const ClusterView::Answer& answer) {
                             exchange->respond(row_response(200, answer));
                           });
             });
}

void Admin::serve_actor(const Asked& asked) {
  ask_owner(asked, "/v1/actors?id=" + percent_encode(asked.target.path.back()));
}

void Admin::serve_end_actor(const Asked& asked) {
  ask_owner(asked, "/v1/end/actors/" + percent_encode(asked.target.path.back()));
}

void Admin::serve_why_actor(const Asked& asked) {
  if (const auto allowed = allow_parameters(asked.target, {}); !allowed) {
    return asked.exchange->respond(error_response(400, allowed.error().message()));
  }
  const auto id = ActorId::parse(asked.target.path.back());
  if (!id) return asked.exchange->respond(error_response(400, id.error().message()));
  explain_actor(cluster_, *id, asked.exchange->remote_address(), deadline(),
                [exchange = asked.exchange](std::string report) {
                  exchange->respond(json_response(200, std::move(report)));
                });
}

void Admin::serve_why_session(const Asked& asked) {
  if (const auto allowed = allow_parameters(asked.target, {}); !allowed) {
    return asked.exchange->respond(error_response(400, allowed.error().message()));
  }
  const auto id = stream::parse_session_id(asked.target.path.back());
  if (!id) {
    return asked.exchange->respond(
        error_response(400, "the id of a session is 32 hexadecimal digits"));
  }
  explain_session(cluster_, *id, asked.exchange->remote_address(), deadline(),
                  [exchange = asked.exchange](std::string report) {
                    exchange->respond(json_response(200, std::move(report)));
                  });
}

void Admin::serve_events(const Asked& asked) {
  asked.exchange->respond(open_event_socket(cluster_, asked.request, asked.target,
                                            asked.exchange->remote_address(), watchers_));
}

// This node is told without its strand, which may be stuck.
void Admin::serve_shutdown(const Asked& asked) {
  if (const auto allowed = allow_parameters(asked.target, {"deadline", "node"}); !allowed) {
    return asked.exchange->respond(error_response(400, allowed.error().message()));
  }
  const auto after = stop_deadline(asked.target);
  if (!after) return asked.exchange->respond(error_response(400, after.error().message()));
  const auto node = asked.target.query.find("node");
  if (node == asked.target.query.end() || node->second == cluster_.self().text) {
    seams_.log.write(LogLevel::Info, "admin", "the node was told to shut down",
                     {{"client", asked.exchange->remote_address()}});
    // The answer first: the process may end at once.
    asked.exchange->respond(json_response(202, status_json(seams_.node, "shutting down") + "\n"));
    return seams_.shut_down(*after);
  }
  std::string path = "/v1/shutdown";
  if (const auto given = asked.target.query.find("deadline"); given != asked.target.query.end()) {
    path += "?deadline=" + percent_encode(given->second);
  }
  cluster_.nodes([cluster = cluster_, exchange = asked.exchange, path, rid = node->second,
                  deadline = deadline()](const ClusterView::Nodes& nodes) {
    const objects::NodeRow* found = find_node(nodes, rid);
    if (found == nullptr) {
      return exchange->respond(error_response(
          404, fmt::format("node {} knows of no node '{}'", cluster.self().text, rid)));
    }
    cluster.ask(*found, {path, exchange->remote_address()}, deadline,
                [exchange](const ClusterView::Answer& answer) {
                  exchange->respond(row_response(202, answer));
                });
  });
}

}  // namespace spotmesh::host
