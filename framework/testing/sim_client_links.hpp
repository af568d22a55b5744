// SimClientLinks: client connections in simulated time. One object is both ends: the ClientLinks of
// a node, and the door through which simulated clients come in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "stream/client_links.hpp"
#include "testing/sim_connection.hpp"
#include "testing/sim_time.hpp"

namespace spotmesh::testing {

class SimLink;

class SimClientLinks final : public stream::ClientLinks {
 public:
  // `time` and `random` outlive this object and every connection.
  SimClientLinks(SimTime& time, Random& random, LinkConditions conditions = {});
  ~SimClientLinks() override;

  Result<std::uint16_t> listen(const stream::ListenOptions& options,
                               stream::LinkAcceptor& acceptor) override;
  void stop_listening() override;

  // Opens a connection as far as the end of the HTTP upgrade. `peer` lives until it has heard
  // on_closed() or is forgotten. The errors are those that a real client would be told: NotFound
  // when nobody listens or the subprotocol is not offered, else the acceptor's.
  Result<std::shared_ptr<SimConnection>> connect(SimPeer& peer, std::string_view subprotocol,
                                                 std::string_view remote_address = "client");
  // The same over TCP without WebSocket.
  Result<std::shared_ptr<SimConnection>> connect_tcp(SimPeer& peer,
                                                     std::string_view remote_address = "client");
  // The node's process is gone: its handlers hear nothing, every client learns of a reset.
  void crash();

  std::size_t open_links() const;
  // The clients' ends of what is open, in the order they came.
  std::vector<std::shared_ptr<SimConnection>> open_connections() const;

 private:
  SimTime& time_;
  Random& random_;
  struct Door {
    stream::ListenOptions options;
    stream::LinkAcceptor* acceptor = nullptr;
  };

  Door& door(stream::LinkInfo::Framing framing) {
    return framing == stream::LinkInfo::Framing::WebSocket ? web_socket_ : tcp_;
  }
  Result<std::shared_ptr<SimConnection>> enter(SimPeer& peer, const Door& door,
                                               const stream::LinkInfo& info);

  LinkConditions conditions_;
  Door web_socket_;
  Door tcp_;
  std::uint16_t next_port_ = 40'000;
  // Links are kept here until they have ended, whoever else has let go of them.
  std::vector<std::shared_ptr<SimLink>> links_;
};

}  // namespace spotmesh::testing
