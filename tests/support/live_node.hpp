// Nodes on real threads, in one process and with one store, and turns to call them from.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/spotmesh.hpp>

#include "live_parts.hpp"
#include "net/asio_mesh_transport.hpp"
#include "node/node.hpp"
#include "objects/caller.hpp"
#include "runtime/job.hpp"
#include "runtime/mailbox.hpp"

namespace spotmesh::testing {

class CallerContext final : public Context {
 public:
  explicit CallerContext(objects::Caller& caller) : Context(caller) {}
};

// How a node reaches the others.
enum class LiveWay { None, Memory, Sockets };

struct LiveNodeOptions {
  objects::ObjectsConfig objects;
  mesh::MeshOptions mesh;                    // its address and secret are chosen for it
  LiveWay way = LiveWay::None;               // a node of one
  location::LocationStore* store = nullptr;  // else the one in memory
  objects::SessionRoutes* sessions = nullptr;
};

class LiveNode {
 public:
  using Configure = std::function<void(Application&)>;

  // Throws when the node does not start.
  LiveNode(LiveParts& parts, const Configure& configure, LiveNodeOptions options) : parts_(parts) {
    configure(app_);
    frozen_.emplace(app_);
    options.mesh.secret = "a secret of the tests";
    options.mesh.listen_address = options.way == LiveWay::Sockets ? "127.0.0.1:0" : "live:0";
    if (options.way == LiveWay::Memory) transport_ = parts.network.attach();
    if (options.way == LiveWay::Sockets) {
      auto sockets = std::make_unique<net::AsioMeshTransport>(parts.pool, parts.log);
      sockets_ = sockets.get();
      transport_ = std::move(sockets);
    }
    node_.emplace(*frozen_,
                  node::World{.clock = parts.clock,
                              .scheduler = parts.pool,
                              .timers = parts.pool,
                              .workers = parts.workers,
                              .random = parts.random,
                              .log = parts.log,
                              .events = parts.log,
                              .store = options.store != nullptr ? options.store : &parts.store,
                              .transport = transport_.get()},
                  node::NodeOptions{.prefix = "live",
                                    .objects = std::move(options.objects),
                                    .stream = {},
                                    .listen = {},
                                    .mesh = std::move(options.mesh)});
    if (options.sessions != nullptr) objects().set_sessions(*options.sessions);
    std::promise<Result<void>> started;
    node_->start([&](Result<void> result) { started.set_value(std::move(result)); });
    if (auto result = started.get_future().get(); !result) {
      throw std::runtime_error(to_string(result.error()));
    }
  }
  LiveNode(const LiveNode&) = delete;
  LiveNode& operator=(const LiveNode&) = delete;

  // Ends when all that it was given to do has ended. Once, or again.
  void stop() {
    std::promise<void> stopped;
    node_->stop(std::chrono::seconds(30), [&] { stopped.set_value(); });
    stopped.get_future().wait();
    if (sockets_ != nullptr) sockets_->close();
  }

  // Runs `call` on a gate of its own; the future is ready when it has ended.
  std::future<void> begin(std::function<Task<void>(Context&)> call) {
    auto turn = runtime::make_ref<CallTurn>(parts_, objects(), ++turns_);
    auto job = std::make_unique<CallJob>(turn, std::move(call));
    std::future<void> done = job->done.get_future();
    if (auto pushed = turn->mailbox.push(runtime::Lane::Application, std::move(job)); !pushed) {
      throw std::runtime_error(to_string(pushed.error()));
    }
    return done;
  }
  void call(std::function<Task<void>(Context&)> call) { begin(std::move(call)).get(); }

  objects::ObjectsNode& objects() { return node_->objects(); }
  // Its connections break. Those of Memory break all together.
  void cut() {
    if (sockets_ != nullptr) return sockets_->reset_connections();
    parts_.network.cut();
  }

 private:
  struct CallTurn final : runtime::RefCounted {
    CallTurn(LiveParts& parts, objects::ObjectsNode& node, std::uint64_t number)
        : gate(runtime::make_ref<runtime::Gate>(
              runtime::GateEnvironment{.clock = parts.clock, .scheduler = parts.pool})),
          mailbox(*this, *gate),
          caller(node.new_session_caller(SessionId{1, number})),
          context(*caller) {}
    runtime::Ref<runtime::Gate> gate;
    runtime::Mailbox mailbox;
    std::unique_ptr<objects::Caller> caller;
    CallerContext context;
  };
  class CallJob final : public runtime::Job {
   public:
    CallJob(runtime::Ref<CallTurn> turn, std::function<Task<void>(Context&)> call)
        : turn_(std::move(turn)), call_(std::move(call)) {}
    Task<void> run(runtime::Turn&) override { return call_(turn_->context); }
    void finished(runtime::Turn&, std::exception_ptr failure) override {
      if (failure != nullptr) return done.set_exception(failure);
      done.set_value();
    }
    void refuse(const Error&) override {}

    std::promise<void> done;

   private:
    const runtime::Ref<CallTurn> turn_;
    const std::function<Task<void>(Context&)> call_;
  };

  LiveParts& parts_;
  Application app_;
  std::optional<objects::FrozenApplication> frozen_;
  std::unique_ptr<mesh::Transport> transport_;
  net::AsioMeshTransport* sockets_ = nullptr;  // which that may be
  std::optional<node::Node> node_;
  std::atomic<std::uint64_t> turns_{0};
};

// The nodes end with it, each after a stop.
class LiveWorld {
 public:
  explicit LiveWorld(unsigned threads) : parts_(threads) {}
  ~LiveWorld() { stop(); }
  LiveWorld(const LiveWorld&) = delete;
  LiveWorld& operator=(const LiveWorld&) = delete;

  LiveNode& start(const LiveNode::Configure& configure, LiveNodeOptions options = {}) {
    nodes_.push_back(std::make_unique<LiveNode>(parts_, configure, std::move(options)));
    return *nodes_.back();
  }
  // Stops all nodes, one after the other, and then the threads: what the nodes leave behind can be
  // looked at.
  void stop() {
    if (std::exchange(is_stopped_, true)) return;
    for (const auto& node : nodes_) node->stop();
    parts_.pool.stop();
    parts_.workers.stop();
  }

  const MemoryStore& store() const { return parts_.store; }
  int errors() const { return parts_.log.errors.load(); }

 private:
  LiveParts parts_;
  std::vector<std::unique_ptr<LiveNode>> nodes_;
  bool is_stopped_ = false;
};

}  // namespace spotmesh::testing
