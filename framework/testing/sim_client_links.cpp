#include "testing/sim_client_links.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <spotmesh/error.hpp>

#include "testing/sim_link.hpp"

namespace spotmesh::testing {

SimClientLinks::SimClientLinks(SimTime& time, Random& random, LinkConditions conditions)
    : time_(time), random_(random), conditions_(conditions) {}

SimClientLinks::~SimClientLinks() { crash(); }

Result<std::uint16_t> SimClientLinks::listen(const stream::ListenOptions& options,
                                             stream::LinkAcceptor& acceptor) {
  if (acceptor_ != nullptr) {
    return fail(Error::unavailable("port " + std::to_string(options_.port) + " of " +
                                   options_.host + " is already listened on"));
  }
  options_ = options;
  if (options_.port == 0) options_.port = next_port_++;
  acceptor_ = &acceptor;
  return options_.port;
}

void SimClientLinks::stop_listening() { acceptor_ = nullptr; }

Result<std::shared_ptr<SimConnection>> SimClientLinks::connect(SimPeer& peer,
                                                               std::string_view subprotocol,
                                                               std::string_view remote_address) {
  if (acceptor_ == nullptr) return fail(Error::not_found("connection refused: nobody listens"));
  if (std::ranges::find(options_.subprotocols, subprotocol) == options_.subprotocols.end()) {
    return fail(
        Error::not_found("subprotocol '" + std::string(subprotocol) + "' is not offered here"));
  }
  std::erase_if(links_, [](const auto& link) { return !link->is_open(); });
  auto link = std::make_shared<SimLink>(time_, random_, conditions_, peer);
  stream::LinkInfo info;
  info.subprotocol = subprotocol;
  info.path = options_.path;
  info.remote_address = remote_address;
  auto handler = acceptor_->on_link(*link, info);
  if (!handler) {
    link->forget_peer();
    return fail(handler.error());
  }
  link->attach(std::move(*handler));
  links_.push_back(link);
  return link;
}

void SimClientLinks::crash() {
  acceptor_ = nullptr;
  for (const auto& link : std::exchange(links_, {})) link->crash();
}

std::vector<std::shared_ptr<SimConnection>> SimClientLinks::open_connections() const {
  std::vector<std::shared_ptr<SimConnection>> open;
  for (const auto& link : links_) {
    if (link->is_open()) open.push_back(link);
  }
  return open;
}

std::size_t SimClientLinks::open_links() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(links_, [](const auto& link) { return link->is_open(); }));
}

}  // namespace spotmesh::testing
