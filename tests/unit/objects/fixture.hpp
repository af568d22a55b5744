// One or more nodes' object sides on a simulated world and store, and turns to call them from.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <spotmesh/spotmesh.hpp>

#include "objects/core.hpp"
#include "objects/objects_node.hpp"
#include "probe_turns.hpp"
#include "recorded_sessions.hpp"
#include "test_link.hpp"
#include "test_world.hpp"

namespace spotmesh::objects {

using namespace std::chrono_literals;

class TestNode {
 public:
  // Linked to the other nodes of its world.
  TestNode(TestWorld& sim, const Application& application, const std::string& name,
           ObjectsConfig config = {}, mesh::MeshOptions mesh = {}, Made made = Made::Here)
      : TestNode(sim.world, sim.store, application, name, making(std::move(config), made)) {
    mesh.secret = "open sesame";
    mesh.listen_address = name + ":1";
    link_ = std::make_unique<TestLink>(sim.network, sim_, node_, std::move(mesh));
  }
  // With no way to any other node.
  TestNode(testing::SimWorld& world, testing::SimStore& store, const Application& application,
           const std::string& name, ObjectsConfig config = {})
      : world_(world),
        sim_(world.add_node(name)),
        application_(application),
        store_(store.connect(name)),
        node_(application_, new_identity(name, sim_.random()), std::move(config),
              Seams{.clock = sim_.clock(),
                    .scheduler = sim_.scheduler(),
                    .timers = sim_.timers(),
                    .workers = sim_.workers(),
                    .store = *store_,
                    .random = sim_.random(),
                    .log = sim_.log(),
                    .events = sim_.events(),
                    .observer = &sim_.observer(),
                    .faults = &sim_.faults()}) {
    node_.set_sessions(sessions);
    node_.on_fenced([this](const std::string& reason) { fenced_with = reason; });
    caller_ = node_.new_session_caller(SessionId{7, 7});
    context_.emplace(*caller_);
    probe_ = runtime::make_ref<Probe>(sim_);
  }
  ~TestNode() {
    probe_->gate->abandon();
    if (!is_gone_) stop();
    sim_.end();  // The world goes on for other nodes, and must not run what is gone with this one.
  }
  Result<void> start() {
    if (link_) link_->start();
    std::optional<Result<void>> started;
    node_.start([&](Result<void> result) { started = std::move(result); });
    REQUIRE(world_.run_until([&] { return started.has_value(); }, 60s) ==
            testing::SimOutcome::Done);
    return *started;
  }
  void stop(Duration within = 5s) {
    bool is_stopped = false;
    is_gone_ = true;
    node_.stop(sim_.clock().now() + within, [&] { is_stopped = true; });
    REQUIRE(world_.run_until([&] { return is_stopped; }, within + 60s) ==
            testing::SimOutcome::Done);
    if (link_) link_->stop(world_);
  }
  void crash() {
    is_gone_ = true;
    probe_->gate->abandon();
    sim_.end();
    if (link_) link_->crash();
    node_.abandon();
  }

  // Starts `call` on a turn of its own; the value appears when it has ended.
  template <typename T>
  std::shared_ptr<std::optional<T>> begin(std::function<Task<T>(Context&)> call) {
    auto outcome = std::make_shared<std::optional<T>>();
    auto pushed =
        probe_->mailbox.push(runtime::Lane::Application,
                             std::make_unique<ProbeJob<T>>(*context_, std::move(call), outcome));
    REQUIRE(pushed.has_value());
    return outcome;
  }
  // Runs `call` on a turn and gives what it returned.
  template <typename T>
  T call(std::function<Task<T>(Context&)> call, Duration within = 60s) {
    auto outcome = begin<T>(std::move(call));
    const auto end = world_.run_until([&] { return outcome->has_value(); }, within);
    INFO("the run ended " << testing::to_string(end) << "\n" << world_.trace().text());
    REQUIRE(outcome->has_value());
    return std::move(**outcome);
  }

  Result<CreateResult> create(const std::string& id, const std::string& type,
                              Message request = {}) {
    return call<Result<CreateResult>>([=](Context& context) {
      return context.actors().create(id, type).request(request).submit();
    });
  }
  Result<CreateResult> get_or_create(const std::string& id, const std::string& type) {
    return call<Result<CreateResult>>(
        [=](Context& context) { return context.actors().get_or_create(id, type).submit(); });
  }
  // The ref of an Actor that must come to life.
  ActorRef born(const std::string& id, const std::string& type) {
    auto result = create(id, type);
    INFO((result ? std::string("?") : to_string(result.error())));
    REQUIRE(result.has_value());
    REQUIRE(std::holds_alternative<Created>(*result));
    return std::get<Created>(*result).actor;
  }
  SpotRef room(const std::string& id, const std::string& type) {
    auto result = call<Result<SpotCreateResult>>(
        [=](Context& context) { return context.spots().get_or_create(id, type).submit(); });
    INFO((result ? std::string("?") : to_string(result.error())));
    REQUIRE(result.has_value());
    REQUIRE(std::holds_alternative<SpotCreated>(*result));
    return std::get<SpotCreated>(*result).spot;
  }
  std::optional<ActorRef> find(const std::string& id) {
    auto found = call<Result<std::optional<ActorRef>>>(
        [=](Context& context) { return context.actors().find(id); });
    REQUIRE(found.has_value());
    return *found;
  }
  std::optional<SpotRef> spot_of(const std::string& id) {
    auto found = call<Result<std::optional<SpotRef>>>(
        [=](Context& context) { return context.actors().find_spot(id); });
    REQUIRE(found.has_value());
    return *found;
  }
  Result<bool> destroy(const ActorRef& ref) {
    return call<Result<bool>>([=](Context& context) { return context.actors().destroy(ref); });
  }
  Result<bool> close(const SpotRef& ref) {
    return call<Result<bool>>([=](Context& context) { return context.spots().close(ref); });
  }
  template <typename P>
  Result<void> send(const std::string& id, const P& packet) {
    return call<Result<void>>(
        [=](Context& context) { return context.actors().send(id, packet).submit(); });
  }
  template <typename P>
  Result<void> send_to_spot(const std::string& id, const P& packet) {
    return call<Result<void>>(
        [=](Context& context) { return context.spots().send(id, packet).submit(); });
  }
  template <typename Reply, typename P>
  Result<Reply> request(const std::string& id, const P& packet, Duration timeout = 5s) {
    return call<Result<Reply>>([=](Context& context) {
      return context.actors().request<Reply>(id, packet).timeout(timeout).submit();
    });
  }
  template <typename Reply, typename P>
  Result<Reply> request_of_spot(const std::string& id, const P& packet) {
    return call<Result<Reply>>(
        [=](Context& context) { return context.spots().request<Reply>(id, packet).submit(); });
  }

  testing::SimNode& sim() { return sim_; }
  testing::SimStore::Client& store() { return *store_; }
  ObjectsNode& node() { return node_; }
  Core& core() { return node_.core(); }
  mesh::Peer self() { return {node_.identity().rid, node_.identity().lifecycle}; }
  mesh::MeshNode& mesh() { return link_->mesh(); }
  const Metrics& metrics() { return node_.metrics(); }
  Bindings& bindings() { return node_.bindings(); }
  Context& context() { return *context_; }
  runtime::Mailbox& probe_mailbox() { return probe_->mailbox; }

  RecordedSessions sessions;
  std::optional<std::string> fenced_with;

 private:
  testing::SimWorld& world_;
  testing::SimNode& sim_;
  FrozenApplication application_;
  std::unique_ptr<testing::SimStore::Client> store_;
  std::unique_ptr<TestLink> link_;
  ObjectsNode node_;
  std::unique_ptr<Caller> caller_;
  std::optional<ProbeContext> context_;
  runtime::Ref<Probe> probe_;
  bool is_gone_ = false;
};

}  // namespace spotmesh::objects
