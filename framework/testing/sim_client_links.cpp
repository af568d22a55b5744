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
  Door& opened = door(options.framing);
  if (opened.acceptor != nullptr) {
    return fail(Error::unavailable("port " + std::to_string(opened.options.port) + " of " +
                                   opened.options.host + " is already listened on"));
  }
  opened.options = options;
  if (opened.options.port == 0) opened.options.port = next_port_++;
  opened.acceptor = &acceptor;
  return opened.options.port;
}

void SimClientLinks::stop_listening() {
  web_socket_.acceptor = nullptr;
  tcp_.acceptor = nullptr;
}

Result<std::shared_ptr<SimConnection>> SimClientLinks::connect(SimPeer& peer,
                                                               std::string_view subprotocol,
                                                               std::string_view remote_address) {
  const auto& offered = web_socket_.options.subprotocols;
  if (web_socket_.acceptor != nullptr && std::ranges::find(offered, subprotocol) == offered.end()) {
    return fail(
        Error::not_found("subprotocol '" + std::string(subprotocol) + "' is not offered here"));
  }
  stream::LinkInfo info;
  info.subprotocol = subprotocol;
  info.path = web_socket_.options.path;
  info.remote_address = remote_address;
  info.remote_host = remote_address.substr(0, remote_address.find(':'));
  return enter(peer, web_socket_, info);
}

Result<std::shared_ptr<SimConnection>> SimClientLinks::connect_tcp(
    SimPeer& peer, std::string_view remote_address) {
  stream::LinkInfo info;
  info.framing = stream::LinkInfo::Framing::LengthPrefixed;
  info.remote_address = remote_address;
  info.remote_host = remote_address.substr(0, remote_address.find(':'));
  return enter(peer, tcp_, info);
}

Result<std::shared_ptr<SimConnection>> SimClientLinks::enter(SimPeer& peer, const Door& door,
                                                             const stream::LinkInfo& info) {
  if (door.acceptor == nullptr) return fail(Error::not_found("connection refused: nobody listens"));
  std::erase_if(links_, [](const auto& link) { return !link->is_open(); });
  auto link = std::make_shared<SimLink>(time_, random_, conditions_, peer);
  auto handler = door.acceptor->on_link(*link, info);
  if (!handler) {
    link->forget_peer();
    return fail(handler.error());
  }
  link->attach(std::move(*handler));
  links_.push_back(link);
  return link;
}

void SimClientLinks::crash() {
  stop_listening();
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
