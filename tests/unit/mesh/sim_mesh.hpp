// A few nodes' meshes on a simulated network, and what each has been told.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "mesh/mesh_node.hpp"
#include "testing/sim_network.hpp"
#include "testing/sim_world.hpp"

namespace spotmesh::mesh::testing {

using spotmesh::testing::SimNetwork;
using spotmesh::testing::SimNode;
using spotmesh::testing::SimOptions;
using spotmesh::testing::SimTransport;
using spotmesh::testing::SimWorld;

// What one run of a node has been told by its mesh.
class Recorder final : public PeerHandler {
 public:
  struct Taken {
    Peer from;
    Lane lane;
    std::string text;
  };
  struct Over {
    Peer peer;
    Error reason;
  };

  void on_message(const Peer& from, Lane lane, SharedBytes message) override {
    if (on_taken) on_taken(from, lane, message);
    if (keeps) taken.push_back({from, lane, std::string(as_text(message.view()))});
    ++count;
  }
  void on_ended(const Peer& peer, const Error& reason) override { over.push_back({peer, reason}); }

  // What came from `from` in `lane`.
  std::vector<std::string> texts(const Peer& from, Lane lane) const {
    std::vector<std::string> texts;
    for (const Taken& each : taken) {
      if (each.from == from && each.lane == lane) texts.push_back(each.text);
    }
    return texts;
  }

  std::size_t count_from(const Peer& from) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(taken, [&](const Taken& each) { return each.from == from; }));
  }
  bool has_ended(const Peer& peer) const {
    return std::ranges::any_of(over, [&](const Over& each) { return each.peer == peer; });
  }

  bool keeps = true;
  std::size_t count = 0;
  std::vector<Taken> taken;
  std::vector<Over> over;
  std::function<void(const Peer&, Lane, const SharedBytes&)> on_taken;
};

// Knows every run that was ever started, as descriptors would.
class SimAddresses final : public AddressBook {
 public:
  std::optional<std::string> address_of(const Peer& peer) const override {
    const auto found = known.find(peer);
    if (found == known.end()) return std::nullopt;
    return found->second;
  }
  std::map<Peer, std::string> known;
};

// What a mesh has noted of its sessions, by kind of event.
class Notes final : public EventSink {
 public:
  void emit(Event event) override {
    std::string text;
    for (const LogField& field : event.fields) text += field.value + " ";
    by_kind[std::string(event.kind)].push_back(std::move(text));
  }
  std::map<std::string, std::vector<std::string>> by_kind;
};

// One run of a node. The machine it runs on and its network stay when it crashes.
struct SimRun {
  SimRun(SimNetwork& network, SimAddresses& addresses, SimNode& machine, std::uint64_t number,
         MeshOptions options)
      : node(machine),
        self{NodeRid{fmt::format("{}-{}", machine.name(), number)}, LifecycleId{7, number}},
        transport(network.attach(machine)),
        mesh(self, options,
             MeshSeams{.clock = machine.clock(),
                       .scheduler = machine.scheduler(),
                       .timers = machine.timers(),
                       .transport = *transport,
                       .random = machine.random(),
                       .log = machine.log(),
                       .events = notes,
                       .addresses = addresses,
                       .handler = recorder,
                       .faults = &machine.faults()}) {}

  void say(const SimRun& to, Lane lane, std::string_view text) {
    const auto sent = mesh.send(to.self, lane, SharedBytes::copy_of(as_bytes(text)));
    if (!sent) refusals.push_back(sent.error());
  }

  SimNode& node;
  Peer self;
  Recorder recorder;
  Notes notes;
  std::unique_ptr<SimTransport> transport;
  MeshNode mesh;
  std::vector<Error> refusals;
};

class SimMesh {
 public:
  explicit SimMesh(std::uint64_t seed = 1) : world(SimOptions{.seed = seed}), network(world) {}
  ~SimMesh() {
    for (auto& run : runs_) crash(*run);
  }

  static MeshOptions options(std::string address) {
    return {.cluster = "sim", .secret = "open sesame", .listen_address = std::move(address)};
  }

  // A run on a machine of its own, which listens at "<name>:1".
  SimRun& start(const std::string& name) { return start(name, options(name + ":1")); }
  SimRun& start(const std::string& name, MeshOptions options) {
    SimNode& machine = world.add_node(fmt::format("{}#{}", name, runs_.size() + 1));
    const std::string address = options.listen_address;
    runs_.push_back(std::make_unique<SimRun>(network, addresses, machine, runs_.size() + 1,
                                             std::move(options)));
    SimRun& run = *runs_.back();
    addresses.known[run.self] = address;
    const auto bound = run.mesh.start();
    if (!bound) throw std::runtime_error(bound.error().message());
    return run;
  }
  // The process is gone; the others find out.
  void crash(SimRun& run) {
    if (run.transport == nullptr) return;
    run.node.end();
    run.mesh.abandon();
    run.transport.reset();
  }

  bool run_until(const std::function<bool()>& is_done, Duration limit = std::chrono::seconds(60)) {
    return world.run_until(is_done, limit) == spotmesh::testing::SimOutcome::Done;
  }

  SimWorld world;
  SimNetwork network;
  SimAddresses addresses;

 private:
  std::vector<std::unique_ptr<SimRun>> runs_;
};

}  // namespace spotmesh::mesh::testing
