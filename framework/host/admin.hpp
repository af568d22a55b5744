// Admin: the operator's view of one node, over HTTP. framework/docs/observability.md describes it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <spotmesh/time.hpp>

#include "base/log.hpp"
#include "host/admin_target.hpp"
#include "net/http_exchange.hpp"
#include "node/node.hpp"

namespace spotmesh::host {

// All of it outlives the Admin; the node also outlives whatever was asked.
struct AdminSeams {
  node::Node& node;
  LogSink& log;
  // The node shall stop, with this deadline or the configured one. Called on the server's thread,
  // as often as somebody asks; it only hands over.
  std::function<void(std::optional<Duration> deadline)> shut_down;
};

// What it reads of the node's lists is read on the node's strand, what it counts at any time. It
// knows nothing of sockets.
class Admin final : public net::HttpHandler {
 public:
  // Without a token, it must be reachable from this machine alone; see judge_admin_access().
  Admin(AdminSeams seams, std::string token);

  void on_request(const net::RequestHead& request,
                  std::shared_ptr<net::HttpExchange> exchange) override;
  net::HttpResponse on_no_answer(const net::RequestHead& request) override;
  net::HttpResponse refusal(unsigned status, std::string_view text) override;

 private:
  using Exchange = std::shared_ptr<net::HttpExchange>;
  // Answers a request for its path with the right method.
  using Serve = void (Admin::*)(const AdminTarget&, const Exchange&);
  struct Route {
    std::string_view path;  // without its last segment if that is an id
    bool takes_id;
    std::string_view method;
    Serve serve;
  };
  static const Route* route_of(const AdminTarget& target);

  void serve_health(const AdminTarget& target, const Exchange& exchange);
  void serve_readiness(const AdminTarget& target, const Exchange& exchange);
  void serve_metrics(const AdminTarget& target, const Exchange& exchange);
  void serve_cluster(const AdminTarget& target, const Exchange& exchange);
  void serve_actors(const AdminTarget& target, const Exchange& exchange);
  void serve_actor(const AdminTarget& target, const Exchange& exchange);
  void serve_spots(const AdminTarget& target, const Exchange& exchange);
  void serve_sessions(const AdminTarget& target, const Exchange& exchange);
  void serve_end_actor(const AdminTarget& target, const Exchange& exchange);
  void serve_shutdown(const AdminTarget& target, const Exchange& exchange);

  const AdminSeams seams_;
  const std::string token_;
};

}  // namespace spotmesh::host
