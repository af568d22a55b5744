// Admin: the operator's view of the cluster from one node, over HTTP.
// framework/docs/observability.md describes it.
#pragma once

#include <memory>
#include <string>

#include <spotmesh/time.hpp>

#include "host/admin_target.hpp"
#include "host/cluster_view.hpp"
#include "host/event_socket.hpp"
#include "host/own_answers.hpp"
#include "net/http_exchange.hpp"
#include "node/node.hpp"

namespace spotmesh::host {

// What it reads of the node's lists is read on the node's strand, what it counts at any time. What
// lives on other nodes it asks them for. It knows nothing of sockets.
class Admin final : public net::HttpHandler {
 public:
  // Before the node starts, whose answers to other nodes it gives from now on. Without a token, it
  // must be reachable from this machine alone; see judge_admin_access().
  Admin(OwnSeams seams, std::string token);

  void on_request(const net::RequestHead& request,
                  std::shared_ptr<net::HttpExchange> exchange) override;
  net::HttpResponse on_no_answer(const net::RequestHead& request) override;
  net::HttpResponse refusal(unsigned status, std::string_view text) override;

 private:
  using Exchange = std::shared_ptr<net::HttpExchange>;
  struct Asked {
    const net::RequestHead& request;
    const AdminTarget& target;
    const Exchange& exchange;
  };
  // Answers a request for its path with the right method.
  using Serve = void (Admin::*)(const Asked&);
  struct Route {
    std::string_view path;  // without its last segment if that is an id
    bool takes_id;
    std::string_view method;
    Serve serve;
  };
  static const Route* route_of(const AdminTarget& target);

  void serve_health(const Asked& asked);
  void serve_readiness(const Asked& asked);
  void serve_metrics(const Asked& asked);
  void serve_cluster(const Asked& asked);
  void serve_actors(const Asked& asked);
  void serve_actor(const Asked& asked);
  void serve_spots(const Asked& asked);
  void serve_sessions(const Asked& asked);
  void serve_events(const Asked& asked);
  void serve_why_actor(const Asked& asked);
  void serve_why_session(const Asked& asked);
  void serve_end_actor(const Asked& asked);
  void serve_shutdown(const Asked& asked);
  void serve_list(const Asked& asked, PageOf list);
  // Asks the node that owns the Actor of the target's id for that path, and answers with the row.
  void ask_owner(const Asked& asked, std::string path);
  Instant deadline() const;

  const OwnSeams seams_;
  const std::string token_;
  const ClusterView cluster_;
  const std::shared_ptr<Watchers> watchers_ = std::make_shared<Watchers>();
};

}  // namespace spotmesh::host
