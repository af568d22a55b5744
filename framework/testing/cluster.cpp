// The life of a cluster and its nodes; what may befall them is cluster_faults.cpp.
#include <spotmesh/testing/cluster.hpp>

#include <stdexcept>
#include <utility>

#include "location/keys.hpp"
#include "testing/cluster_parts.hpp"
#include "testing/stream_client_end.hpp"

namespace spotmesh::testing {
namespace {

constexpr Duration start_limit = std::chrono::minutes(1);

}  // namespace

Cluster::Parts::Served::Served(const std::function<void(Application&)>& configure) {
  configure(application);
  frozen.emplace(application);
}

Cluster::Parts::Parts(const std::function<void(Application&)>& configure,
                      const ClusterOptions& chosen)
    : options(chosen),
      world({.seed = chosen.seed}),
      store(world, world.random("store"),
            {.min_latency = chosen.shortest_store_latency,
             .max_latency = chosen.longest_store_latency}),
      network(world),
      has_store(chosen.nodes, true),
      defects(chosen.defects.begin(), chosen.defects.end()) {
  served.push_back(std::make_unique<Served>(configure));
  for (unsigned number = 0; number < chosen.nodes; ++number) {
    const bool has_own = number < chosen.each.size() && chosen.each[number].configure;
    served.push_back(has_own ? std::make_unique<Served>(chosen.each[number].configure) : nullptr);
  }
  for (const auto& each : served) {
    if (each == nullptr) continue;
    for (const PacketSet& set : each->frozen->packet_sets()) packets->add(set);
  }
  checkers.watch(world, store);
}

const Cluster::Parts::Served& Cluster::Parts::application_of(unsigned number) const {
  const auto& own = served.at(number + 1);
  return own ? *own : *served.front();
}

void Cluster::Parts::start_process(unsigned number) {
  auto& runs = slots.at(number);
  const std::string name = "node-" + std::to_string(number) + "." + std::to_string(runs.size());
  // A run listens where the one before it did.
  const std::string address = "node-" + std::to_string(number) + ":1";
  const ClusterNode chosen = number < options.each.size() ? options.each[number] : ClusterNode{};
  auto process = std::make_unique<Process>();
  process->seams = &world.add_node(
      name, {.clock_offset = chosen.clock_offset, .drift_ppm = chosen.clock_drift_ppm});
  process->store = store.connect(name);
  process->store->set_available(has_store.at(number));
  process->links = std::make_unique<SimClientLinks>(
      world, world.random(name + ".links"),
      LinkConditions{.shortest_latency = options.shortest_link_latency,
                     .longest_latency = options.longest_link_latency});
  SimNode& seams = *process->seams;
  for (const auto& [point, per_mille] : defects) seams.faults().set_chance(point, per_mille);
  process->transport = network.attach(seams);
  const objects::FrozenApplication& application = *application_of(number).frozen;
  const bool creates_here = options.creates_here.value_or(!application.streams().empty());
  process->node = std::make_unique<node::Node>(
      application,
      node::World{.clock = seams.clock(),
                  .scheduler = seams.scheduler(),
                  .timers = seams.timers(),
                  .workers = seams.workers(),
                  .random = seams.random(),
                  .log = seams.log(),
                  .events = seams.events(),
                  .store = process->store.get(),
                  .client_links = process->links.get(),
                  .transport = process->transport.get(),
                  .faults = &seams.faults(),
                  .turns = &seams.observer()},
      node::NodeOptions{.objects = {.creates_here = creates_here},
                        .mesh = {.secret = "simulated",
                                 .listen_address = address,
                                 .advertised_address = chosen.advertised_address}});
  checkers.process_started(seams, *process->node);
  process->node->start([started = process.get()](Result<void> outcome) {
    if (!outcome) started->failure = outcome.error();
  });
  runs.push_back(std::move(process));
  for (unsigned other = 0; other < slots.size(); ++other) {
    if (other == number || slots[other].empty()) continue;
    apply_path(number, other);
    apply_path(other, number);
  }
}

void Cluster::Parts::end_process(Process& process) {
  if (process.node == nullptr) return;
  checkers.process_ended(*process.seams);
  process.links->crash();
  for (const auto& caller : process.callers) caller->end();
  if (!process.has_stopped) process.node->abandon();
  process.seams->end();
  process.node.reset();
  process.transport.reset();
  process.store.reset();
}

void Cluster::Parts::apply_path(unsigned from, unsigned to) {
  const auto found = paths.find({from, to});
  if (found == paths.end()) return;
  const SimNode& source = *current(from).seams;
  const SimNode& target = *current(to).seams;
  if (found->second.delay) {
    network.set_delay(source, target, found->second.delay->first, found->second.delay->second);
  }
  if (found->second.is_blocked) {
    network.block(source, target);
  } else {
    network.unblock(source, target);
  }
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

unsigned Cluster::nodes() const { return parts_->options.nodes; }

Result<SimStreamClient> Cluster::connect(unsigned node) {
  const bool is_binary = random_below(parts_->world.random("client forms"), 1000) <
                         parts_->options.binary_clients_per_mille;
  return connect(node, is_binary ? ClientForm::Binary : ClientForm::Json);
}

Result<SimStreamClient> Cluster::connect(unsigned node, ClientForm form) {
  Parts& parts = *parts_;
  const std::string name = "client-" + std::to_string(parts.clients_made++);
  return connect_stream_client(*parts.current(node).links, parts.world.random(name), parts.packets,
                               name, form);
}

Result<SimCaller> Cluster::caller(unsigned node) {
  Parts::Process& process = parts_->current(node);
  if (process.node == nullptr) {
    return fail(Error::not_found("the process of node " + std::to_string(node) + " has ended"));
  }
  const SessionId id{0, ++parts_->callers_made};
  process.callers.push_back(std::make_shared<CallerEnd>(*process.seams, *process.node, id));
  return SimCaller(process.callers.back());
}

bool Cluster::run_until(const std::function<bool()>& condition, Duration limit) {
  return parts_->world.run_until(condition, limit) == SimOutcome::Done;
}

void Cluster::run_for(Duration span) { parts_->world.run_for(span); }

void Cluster::after(Duration delay, std::function<void()> job) {
  parts_->world.after(delay, std::move(job));
}

Duration Cluster::elapsed() const { return parts_->world.now() - Instant{}; }

void Cluster::crash(unsigned node) { parts_->end_process(parts_->current(node)); }

void Cluster::restart(unsigned node) {
  crash(node);
  parts_->start_process(node);
}

void Cluster::pause(unsigned node) { parts_->current(node).seams->pause(); }

void Cluster::resume(unsigned node) { parts_->current(node).seams->resume(); }

void Cluster::suspend_in_turn(unsigned node, Duration by) {
  parts_->current(node).seams->suspend_in_turn(by);
}

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

bool Cluster::is_running(unsigned node) const {
  const Parts::Process& process = parts_->current(node);
  return process.node != nullptr && !process.has_stopped;
}

bool Cluster::is_paused(unsigned node) const { return parts_->current(node).seams->is_paused(); }

bool Cluster::has_failed(unsigned node) const {
  const Parts::Process& process = parts_->current(node);
  return process.node != nullptr && process.node->state() == node::NodeState::Error;
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

std::vector<std::string> Cluster::violations() const {
  std::vector<std::string> all = parts_->world.violations();
  for (const std::string& violation : parts_->checkers.violations()) all.push_back(violation);
  return all;
}

std::vector<std::string> Cluster::violations_at_rest() {
  // Beats and the like are always under way somewhere; what is due now has been done then.
  parts_->world.run_until_idle();
  parts_->checkers.look_at_rest();
  return violations();
}

}  // namespace spotmesh::testing
