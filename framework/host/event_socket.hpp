// The WebSocket of /v1/events: an EventFeed as text messages, and what the reader says back.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "host/admin_target.hpp"
#include "host/cluster_view.hpp"
#include "net/http_exchange.hpp"

namespace spotmesh::host {

// Of one node, at a time.
struct Watchers {
  static constexpr std::size_t most = 16;
  std::atomic<std::size_t> count{0};
};

// The response that turns the connection into one; a refusal (400, 426, 503) when the request does
// not ask for it rightly, or too many watch already.
net::HttpResponse open_event_socket(const ClusterView& cluster, const net::RequestHead& request,
                                    const AdminTarget& target, const std::string& client,
                                    const std::shared_ptr<Watchers>& watchers);

}  // namespace spotmesh::host
