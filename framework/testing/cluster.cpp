#include <spotmesh/testing/cluster.hpp>

#include <optional>
#include <stdexcept>
#include <utility>

#include "location/keys.hpp"
#include "node/node.hpp"
#include "objects/frozen_application.hpp"
#include "testing/sim_client_links.hpp"
#include "testing/sim_store.hpp"
#include "testing/sim_world.hpp"
#include "testing/stream_client_end.hpp"

namespace spotmesh::testing {
namespace {

constexpr Duration start_limit = std::chrono::minutes(1);

}  // namespace

struct Cluster::Parts {
  // One run of one process. Runs that have ended are kept: what is under way in the simulation may
  // still refer to their seams.
  struct Process {
    SimNode* seams = nullptr;
    std::unique_ptr<SimStore::Client> store;
    std::unique_ptr<SimClientLinks> links;
    std::unique_ptr<node::Node> node;
    bool has_stopped = false;
    std::optional<Error> failure;
  };

  Parts(const std::function<void(Application&)>& configure, const ClusterOptions& chosen)
      : options(chosen),
        world({.seed = chosen.seed}),
        store(world, world.random("store"),
              {.min_latency = chosen.shortest_store_latency,
               .max_latency = chosen.longest_store_latency}) {
    configure(application);
    frozen.emplace(application);
    for (const PacketSet& set : frozen->packet_sets()) packets->add(set);
  }

  void start_process(unsigned number);
  Process& current(unsigned number) { return *slots.at(number).back(); }
  const Process& current(unsigned number) const { return *slots.at(number).back(); }
  void end_process(Process& process);

  const ClusterOptions options;
  Application application;
  SimWorld world;
  SimStore store;
  std::optional<objects::FrozenApplication> frozen;
  std::vector<std::vector<std::unique_ptr<Process>>> slots;
  std::shared_ptr<wire::PacketCatalog> packets = std::make_shared<wire::PacketCatalog>();
  std::size_t clients_made = 0;
};

void Cluster::Parts::start_process(unsigned number) {
  auto& runs = slots.at(number);
  const std::string name = "node-" + std::to_string(number) + "." + std::to_string(runs.size());
  auto process = std::make_unique<Process>();
  process->seams = &world.add_node(name);
  process->store = store.connect(name);
  process->links = std::make_unique<SimClientLinks>(
      world, world.random(name + ".links"),
      LinkConditions{.shortest_latency = options.shortest_link_latency,
                     .longest_latency = options.longest_link_latency});
  SimNode& seams = *process->seams;
  process->node = std::make_unique<node::Node>(*frozen,
                                               node::World{.clock = seams.clock(),
                                                           .scheduler = seams.scheduler(),
                                                           .timers = seams.timers(),
                                                           .workers = seams.workers(),
                                                           .random = seams.random(),
                                                           .log = seams.log(),
                                                           .events = seams.events(),
                                                           .store = process->store.get(),
                                                           .client_links = process->links.get(),
                                                           .faults = &seams.faults(),
                                                           .turns = &seams.observer()},
                                               node::NodeOptions{});
  process->node->start([started = process.get()](Result<void> outcome) {
    if (!outcome) started->failure = outcome.error();
  });
  runs.push_back(std::move(process));
}

void Cluster::Parts::end_process(Process& process) {
  if (process.node == nullptr) return;
  process.links->crash();
  if (!process.has_stopped) process.node->abandon();
  process.seams->end();
  process.node.reset();
  process.store.reset();
}

Cluster::Cluster(const std::function<void(Application&)>& configure, ClusterOptions options)
    : parts_(std::make_unique<Parts>(configure, options)) {
  parts_->slots.resize(options.nodes);
  for (unsigned number = 0; number < options.nodes; ++number) parts_->start_process(number);
  const auto all_serve = [this] {
    for (unsigned number = 0; number < parts_->slots.size(); ++number) {
      if (!is_serving(number)) return false;
    }
    return true;
  };
  if (!run_until(all_serve, start_limit)) {
    throw std::runtime_error("seed " + std::to_string(options.seed) +
                             ": the nodes did not come to serve:\n" + trace());
  }
}

Cluster::~Cluster() {
  for (auto& runs : parts_->slots) {
    for (auto& process : runs) parts_->end_process(*process);
  }
}

Result<SimStreamClient> Cluster::connect(unsigned node) {
  Parts& parts = *parts_;
  const std::string name = "client-" + std::to_string(parts.clients_made++);
  return connect_stream_client(*parts.current(node).links, parts.world.random(name), parts.packets,
                               name);
}

bool Cluster::run_until(const std::function<bool()>& condition, Duration limit) {
  return parts_->world.run_until(condition, limit) == SimOutcome::Done;
}

void Cluster::run_for(Duration span) { parts_->world.run_for(span); }

Duration Cluster::elapsed() const { return parts_->world.now() - Instant{}; }

void Cluster::crash(unsigned node) { parts_->end_process(parts_->current(node)); }

void Cluster::restart(unsigned node) {
  crash(node);
  parts_->start_process(node);
}

void Cluster::pause(unsigned node) { parts_->current(node).seams->pause(); }

void Cluster::resume(unsigned node) { parts_->current(node).seams->resume(); }

bool Cluster::stop(unsigned node, Duration limit) {
  Parts::Process& process = parts_->current(node);
  if (process.node == nullptr) return true;
  process.node->stop(limit, [&process] { process.has_stopped = true; });
  return run_until([&process] { return process.has_stopped; }, limit);
}

bool Cluster::is_serving(unsigned node) const {
  const Parts::Process& process = parts_->current(node);
  return process.node != nullptr && process.node->state() == node::NodeState::Serving;
}

void Cluster::set_store_available(bool is_available) { parts_->store.set_available(is_available); }

void Cluster::set_store_latency(Duration shortest, Duration longest) {
  parts_->store.behavior().min_latency = shortest;
  parts_->store.behavior().max_latency = longest;
}

void Cluster::set_store_faults(unsigned unavailable_per_mille, unsigned unknown_per_mille) {
  parts_->store.behavior().unavailable_per_mille = unavailable_per_mille;
  parts_->store.behavior().unknown_per_mille = unknown_per_mille;
}

std::vector<std::string> Cluster::stored_objects() const {
  std::vector<std::string> found;
  for (const auto prefix : {location::keys::actor_prefix, location::keys::spot_prefix}) {
    for (const auto& entry : parts_->store.contents(prefix)) {
      found.push_back(location::keys::printable(entry.key));
    }
  }
  return found;
}

std::uint64_t Cluster::trace_hash() const { return parts_->world.trace().hash(); }

std::string Cluster::trace() const { return parts_->world.trace().text(); }

std::vector<std::string> Cluster::violations() const { return parts_->world.violations(); }

}  // namespace spotmesh::testing
