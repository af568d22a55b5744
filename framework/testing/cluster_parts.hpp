// What a Cluster is made of.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/testing/cluster.hpp>

#include "node/node.hpp"
#include "objects/frozen_application.hpp"
#include "testing/caller_end.hpp"
#include "testing/checkers/checkers.hpp"
#include "testing/sim_client_links.hpp"
#include "testing/sim_network.hpp"
#include "testing/sim_store.hpp"
#include "testing/sim_world.hpp"
#include "wire/packet_catalog.hpp"

namespace spotmesh::testing {

struct Cluster::Parts {
  // One run of one process. Runs that have ended are kept: what is under way in the simulation may
  // still refer to their seams.
  struct Process {
    SimNode* seams = nullptr;
    std::unique_ptr<SimStore::Client> store;
    std::unique_ptr<SimClientLinks> links;
    std::unique_ptr<SimTransport> transport;
    std::unique_ptr<node::Node> node;
    std::vector<std::shared_ptr<CallerEnd>> callers;
    bool has_stopped = false;
    std::optional<Error> failure;
  };
  // An application as the nodes that share it run it.
  struct Served {
    explicit Served(const std::function<void(Application&)>& configure);
    Application application;
    std::optional<objects::FrozenApplication> frozen;
  };
  struct Path {
    std::optional<std::pair<Duration, Duration>> delay;
    bool is_blocked = false;
  };

  Parts(const std::function<void(Application&)>& configure, const ClusterOptions& chosen);

  void start_process(unsigned number);
  void end_process(Process& process);
  Process& current(unsigned number) { return *slots.at(number).back(); }
  const Process& current(unsigned number) const { return *slots.at(number).back(); }
  const Served& application_of(unsigned number) const;
  void apply_path(unsigned from, unsigned to);
  // The open connections of all clients, node by node.
  std::vector<std::shared_ptr<SimConnection>> open_connections() const;

  const ClusterOptions options;
  std::vector<std::unique_ptr<Served>> served;  // the cluster's, then those of single nodes
  SimWorld world;
  SimStore store;
  SimNetwork network;
  Checkers checkers;
  std::vector<std::vector<std::unique_ptr<Process>>> slots;
  std::vector<bool> has_store;
  std::map<std::pair<unsigned, unsigned>, Path> paths;
  std::map<std::string, unsigned, std::less<>> defects;
  std::vector<StoreFailOver> fail_overs;
  std::shared_ptr<wire::PacketCatalog> packets = std::make_shared<wire::PacketCatalog>();
  std::size_t clients_made = 0;
  std::uint64_t callers_made = 0;
};

}  // namespace spotmesh::testing
