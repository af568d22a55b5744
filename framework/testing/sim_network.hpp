// The network of a simulated cluster, and the Transport that each node has on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "mesh/transport.hpp"
#include "testing/sim_node.hpp"
#include "testing/sim_random.hpp"

namespace spotmesh::testing {

class SimWorld;
class SimTransport;

struct SimNetworkOptions {
  // One way, of every path that has none of its own.
  Duration min_delay = std::chrono::microseconds(50);
  Duration max_delay = std::chrono::milliseconds(1);
  // After which a dial that nobody answers fails.
  Duration dial_timeout = std::chrono::seconds(3);
};

// Connections behave as TCP's do: what one end sends arrives whole and in order at the other, later
// or, once the connection is cut, up to some point that neither end knows. Paths are directed. The
// network outlives every run of its world.
class SimNetwork {
 public:
  SimNetwork(SimWorld& world, SimNetworkOptions options = {});
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;
  ~SimNetwork();

  // The node's Transport. Its end is the end of the process as the others see it: its listeners are
  // gone and its connections are cut. Ends before the network.
  std::unique_ptr<SimTransport> attach(SimNode& node);

  void set_delay(const SimNode& from, const SimNode& to, Duration shortest, Duration longest);
  // What goes from `from` to `to`, on all connections together, takes its time and its turn.
  void set_bandwidth(const SimNode& from, const SimNode& to, std::uint64_t bytes_per_second);
  // Nothing goes from `from` to `to` any more. Connections stay up and what is sent waits, as it
  // does while TCP retransmits; unblock() lets it arrive.
  void block(const SimNode& from, const SimNode& to);
  void unblock(const SimNode& from, const SimNode& to);
  // Both ways.
  void partition(const SimNode& a, const SimNode& b);
  void heal(const SimNode& a, const SimNode& b);
  // Ends every connection between the two. Of what is under way some part still arrives, each end
  // learns of it in its own time, and while a path is blocked its end learns nothing.
  void cut(const SimNode& a, const SimNode& b);

  std::size_t connections() const { return links_.size(); }

 private:
  friend class SimTransport;
  class Link;
  class End;
  struct Listener {
    SimTransport* transport;
    mesh::ConnectionAcceptor* acceptor;
  };
  struct Path {
    std::optional<std::pair<Duration, Duration>> delay;
    std::uint64_t bytes_per_second = 0;  // 0: any number
    Instant free_at{};                   // all that was sent before is on its way
    bool is_blocked = false;
  };
  using Nodes = std::pair<const SimNode*, const SimNode*>;

  Path& path(const SimNode& from, const SimNode& to) {
    return paths_[{from.number(), to.number()}];
  }
  Duration delay(const SimNode& from, const SimNode& to);
  // When the last of so many bytes leaves `from`.
  Instant departure(const SimNode& from, const SimNode& to, std::size_t bytes);
  Result<std::string> listen(SimTransport& transport, std::string address,
                             mesh::ConnectionAcceptor& acceptor);
  void dial(SimTransport& transport, const std::string& address, mesh::DialHandler& handler);
  void stop_listening(const SimTransport& transport);
  void detach(SimTransport& transport);
  void forget_ended();

  SimWorld& world_;
  const SimNetworkOptions options_;
  SimRandom& random_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Path> paths_;
  std::map<std::string, Listener, std::less<>> listeners_;
  std::uint16_t next_port_ = 20'000;
  std::vector<std::shared_ptr<Link>> links_;
};

class SimTransport final : public mesh::Transport {
 public:
  ~SimTransport() override;
  SimTransport(const SimTransport&) = delete;
  SimTransport& operator=(const SimTransport&) = delete;

  Result<std::string> listen(std::string address, mesh::ConnectionAcceptor& acceptor) override;
  void stop_listening() override;
  void dial(std::string address, mesh::DialHandler& handler) override;

 private:
  friend class SimNetwork;
  SimTransport(SimNetwork& network, SimNode& node) : network_(network), node_(node) {}

  SimNetwork& network_;
  SimNode& node_;
};

}  // namespace spotmesh::testing
