#include "node/node.hpp"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "mesh/mesh_node.hpp"
#include "objects/core.hpp"
#include "runtime/strand.hpp"

namespace spotmesh::node {
namespace {

constexpr std::string_view stop_reason = "the server is shutting down";
// For peers to take what they were sent last, while the lease still vouches for it.
constexpr Duration mesh_linger = std::chrono::seconds(1);

objects::Seams object_seams(const World& world) {
  if (world.store == nullptr) {
    throw ConfigurationError(
        "this node has no Location Store; set location.store, for example to "
        "\"sqlite:./cluster.db\"");
  }
  return {.clock = world.clock,
          .scheduler = world.scheduler,
          .timers = world.timers,
          .workers = world.workers,
          .store = *world.store,
          .random = world.random,
          .log = world.log,
          .events = world.events,
          .observer = world.turns,
          .faults = world.faults};
}

const objects::StreamType* only_stream(const objects::FrozenApplication& application,
                                       const World& world) {
  const auto& streams = application.streams();
  if (streams.empty()) return nullptr;
  if (streams.size() > 1) {
    throw ConfigurationError("the application registers the gateways '" + streams[0]->name +
                             "' and '" + streams[1]->name + "'; a node can run one");
  }
  if (world.client_links == nullptr) {
    throw ConfigurationError("the application registers the gateway '" + streams[0]->name +
                             "', but this node cannot accept clients");
  }
  return streams[0].get();
}

}  // namespace

std::string_view to_string(NodeState state) {
  switch (state) {
    case NodeState::Idle:
      return "Idle";
    case NodeState::Preparing:
      return "Preparing";
    case NodeState::Serving:
      return "Serving";
    case NodeState::Draining:
      return "Draining";
    case NodeState::Stopped:
      return "Stopped";
    case NodeState::Error:
      return "Error";
  }
  return "unknown";
}

// Everything below `strand` is touched on the strand only, once the node has been started.
struct Node::Parts {
  Parts(const objects::FrozenApplication& app, const World& outside, NodeOptions chosen)
      : world(outside),
        options(std::move(chosen)),
        stream_type(only_stream(app, outside)),
        strand(outside.scheduler),
        objects(app, objects::new_identity(options.prefix, outside.random),
                objects_config(options, stream_type), object_seams(outside)),
        stop_timer(*this) {
    if (world.transport != nullptr) {
      mesh = std::make_unique<mesh::MeshNode>(
          mesh::Peer{objects.identity().rid, objects.identity().lifecycle}, options.mesh,
          mesh_seams());
      objects.set_peers(*mesh);
    }
    if (stream_type == nullptr) return;
    stream.emplace(
        app, *stream_type, objects.identity(), stream_seams(),
        [this](const SessionId& session) { return objects.new_session_caller(session); },
        options.stream);
    objects.set_sessions(*stream);
  }

  // Ends what a stop is waiting for when its deadline has passed.
  class StopTimer final : public runtime::TimerEntry {
   public:
    explicit StopTimer(Parts& parts) : parts_(parts) {}
    void on_timer(Instant) override {
      parts_.strand.post([&parts = parts_] {
        if (parts.stream) parts.stream->abandon();
      });
    }

   private:
    Parts& parts_;
  };

  static objects::ObjectsConfig objects_config(const NodeOptions& options,
                                               const objects::StreamType* stream_type) {
    objects::ObjectsConfig config = options.objects;
    config.is_stream_gateway = stream_type != nullptr;
    return config;
  }
  mesh::MeshSeams mesh_seams() {
    return {.clock = world.clock,
            .scheduler = world.scheduler,
            .timers = world.timers,
            .transport = *world.transport,
            .random = world.random,
            .log = world.log,
            .events = world.events,
            .addresses = objects.addresses(),
            .handler = objects.peer_handler(),
            .faults = world.faults};
  }
  stream::StreamSeams stream_seams() {
    return {.clock = world.clock,
            .scheduler = world.scheduler,
            .timers = world.timers,
            .strand = strand,
            .random = world.random,
            .log = world.log,
            .events = world.events,
            .bindings = objects.bindings(),
            .observer = world.turns,
            .faults = world.faults};
  }

  void set_state(NodeState next) {
    state.store(next, std::memory_order_release);
    world.events.emit({.kind = "node.state",
                       .subject = objects.identity().rid.text,
                       .fields = {{"state", std::string(to_string(next))}}});
    world.log.write(LogLevel::Info, "node", std::string(to_string(next)),
                    {{"node", objects.identity().rid.text}});
  }

  void begin_start();
  void address_checked(const Result<void>& reached);
  void start_objects();
  void objects_started(Result<void> outcome);
  Result<void> open_gateway();
  void lost(std::string reason);
  void begin_stop(Duration deadline);
  void sessions_ended();
  void objects_leave(std::function<void()> go_on);
  void objects_stopped();
  void stop_mesh(Duration linger);
  void mesh_stopped();
  void finish_stop();

  const World world;
  const NodeOptions options;
  const objects::StreamType* const stream_type;
  runtime::Strand strand;
  std::unique_ptr<mesh::MeshNode> mesh;  // outlives the objects, which speak through it
  objects::ObjectsNode objects;
  std::optional<stream::StreamServer> stream;
  StopTimer stop_timer;

  std::atomic<NodeState> state{NodeState::Idle};
  std::atomic<std::uint16_t> port{0};
  std::atomic<std::uint16_t> tcp_port{0};
  std::function<void(std::string)> told_lost;
  std::function<void(Result<void>)> started;
  Instant stop_deadline{};
  // Of the mesh: Idle until start(), then Open until stop().
  enum class MeshState : std::uint8_t { Idle, Open, Stopping, Stopped };
  MeshState mesh_state = MeshState::Idle;
  bool is_stopping = false;
  bool have_objects_stopped = false;
  std::function<void()> leaving;  // goes on when the mesh has stopped
  bool is_stopped = false;
  std::vector<std::function<void()>> stop_waiters;
};

void Node::Parts::begin_start() {
  set_state(NodeState::Preparing);
  if (mesh) {
    auto bound = mesh->start();
    if (!bound) return objects_started(fail(bound.error()));
    mesh_state = MeshState::Open;
    const std::string& chosen = options.mesh.advertised_address;
    const std::string address = chosen.empty() ? *bound : chosen;
    if (!address.empty()) {
      objects.set_advertised_address(address);
      return mesh->check_address(address, [this](Result<void> reached) {
        strand.post([this, reached = std::move(reached)] { address_checked(reached); });
      });
    }
  }
  start_objects();
}

// Nothing of this node has been told to anybody before.
void Node::Parts::address_checked(const Result<void>& reached) {
  if (!reached || is_stopping) return objects_started(reached);
  start_objects();
}

void Node::Parts::start_objects() {
  objects.start([this](Result<void> outcome) {
    strand.post(
        [this, outcome = std::move(outcome)]() mutable { objects_started(std::move(outcome)); });
  });
}

void Node::Parts::objects_started(Result<void> outcome) {
  if (is_stopping) {
    outcome = fail(Error::shutting_down("the node was told to stop while it was starting"));
  } else if (outcome) {
    outcome = open_gateway();
  }
  if (!is_stopping) set_state(outcome ? NodeState::Serving : NodeState::Error);
  if (auto told = std::exchange(started, nullptr)) told(std::move(outcome));
}

Result<void> Node::Parts::open_gateway() {
  if (!stream) return {};
  auto bound = world.client_links->listen(options.listen, *stream);
  if (!bound) return fail(bound.error());
  port.store(*bound, std::memory_order_release);
  if (!options.tcp_listen.has_value()) return {};
  stream::ListenOptions without_http = *options.tcp_listen;
  without_http.framing = stream::LinkInfo::Framing::LengthPrefixed;
  bound = world.client_links->listen(without_http, *stream);
  if (!bound) {
    world.client_links->stop_listening();
    return fail(bound.error());
  }
  tcp_port.store(*bound, std::memory_order_release);
  return {};
}

void Node::Parts::lost(std::string reason) {
  if (is_stopped) return;
  if (stream) {
    world.client_links->stop_listening();
    stream->stop("the server has lost its lease", [] {});
  }
  // The others need not find out by themselves.
  stop_mesh({});
  if (!is_stopping) set_state(NodeState::Error);
  if (auto told = std::exchange(told_lost, nullptr)) told(std::move(reason));
}

void Node::Parts::begin_stop(Duration deadline) {
  if (std::exchange(is_stopping, true)) return;
  set_state(NodeState::Draining);
  stop_deadline = world.clock.now() + deadline;
  if (!stream) return sessions_ended();
  world.timers.arm(stop_timer, stop_deadline);
  world.client_links->stop_listening();
  stream->stop(std::string(stop_reason), [this] { strand.post([this] { sessions_ended(); }); });
}

void Node::Parts::sessions_ended() {
  world.timers.cancel(stop_timer);
  objects.stop(stop_deadline, [this] { strand.post([this] { objects_stopped(); }); });
}

void Node::Parts::objects_leave(std::function<void()> go_on) {
  leaving = std::move(go_on);
  stop_mesh(mesh_linger);
  if (mesh_state == MeshState::Idle || mesh_state == MeshState::Stopped) mesh_stopped();
}

void Node::Parts::objects_stopped() {
  have_objects_stopped = true;
  stop_mesh(mesh_linger);
  if (mesh_state == MeshState::Idle || mesh_state == MeshState::Stopped) finish_stop();
}

void Node::Parts::stop_mesh(Duration linger) {
  if (mesh_state != MeshState::Open) return;
  mesh_state = MeshState::Stopping;
  mesh->stop(linger, [this] { strand.post([this] { mesh_stopped(); }); });
}

void Node::Parts::mesh_stopped() {
  mesh_state = MeshState::Stopped;
  if (auto go_on = std::exchange(leaving, nullptr)) go_on();
  if (have_objects_stopped) finish_stop();
}

void Node::Parts::finish_stop() {
  is_stopped = true;
  set_state(NodeState::Stopped);
  for (auto& waiter : std::exchange(stop_waiters, {})) waiter();
}

Node::Node(const objects::FrozenApplication& application, const World& world, NodeOptions options)
    : parts_(std::make_unique<Parts>(application, world, std::move(options))) {}

Node::~Node() {
  // After an error the mesh may still be open.
  if (parts_->mesh) parts_->mesh->abandon();
}

void Node::start(std::function<void(Result<void>)> done) {
  Parts& parts = *parts_;
  parts.objects.on_fenced([&parts](std::string reason) {
    parts.strand.post([&parts, reason = std::move(reason)] { parts.lost(reason); });
  });
  parts.objects.on_leaving([&parts](std::function<void()> go_on) {
    parts.strand.post(
        [&parts, go_on = std::move(go_on)]() mutable { parts.objects_leave(std::move(go_on)); });
  });
  parts.strand.post([&parts, done = std::move(done)]() mutable {
    parts.started = std::move(done);
    parts.begin_start();
  });
}

void Node::stop(Duration deadline, std::function<void()> done) {
  Parts& parts = *parts_;
  parts.strand.post([&parts, deadline, done = std::move(done)]() mutable {
    if (parts.is_stopped) return done();
    parts.stop_waiters.push_back(std::move(done));
    parts.begin_stop(deadline);
  });
}

void Node::on_lost(std::function<void(std::string reason)> callback) {
  parts_->told_lost = std::move(callback);
}

void Node::abandon() {
  parts_->world.timers.cancel(parts_->stop_timer);
  if (parts_->stream) parts_->stream->abandon();
  if (parts_->mesh) parts_->mesh->abandon();
  parts_->objects.abandon();
  parts_->strand.close();
}

NodeState Node::state() const { return parts_->state.load(std::memory_order_acquire); }

bool Node::is_admitted() const {
  objects::Core& core = parts_->objects.core();
  return core.admission.is_open(core.now());
}

objects::ObjectsNode& Node::objects() const { return parts_->objects; }

const objects::NodeIdentity& Node::identity() const { return parts_->objects.identity(); }

const stream::StreamServer* Node::stream() const {
  return parts_->stream ? &*parts_->stream : nullptr;
}

const mesh::MeshMetrics* Node::mesh_metrics() const {
  return parts_->mesh ? &parts_->mesh->metrics() : nullptr;
}

std::uint16_t Node::stream_port() const { return parts_->port.load(std::memory_order_acquire); }

std::uint16_t Node::tcp_port() const { return parts_->tcp_port.load(std::memory_order_acquire); }

}  // namespace spotmesh::node
