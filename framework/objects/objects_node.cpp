#include "objects/objects_node.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "objects/binding_table.hpp"
#include "objects/checkpoints.hpp"
#include "objects/core.hpp"
#include "objects/creations.hpp"
#include "objects/descriptor_publisher.hpp"
#include "objects/farewells.hpp"
#include "objects/joins.hpp"
#include "objects/lease_driver.hpp"
#include "objects/node_directory.hpp"
#include "objects/node_start.hpp"
#include "objects/node_stop.hpp"
#include "objects/peer_port.hpp"
#include "objects/publications.hpp"
#include "objects/registry.hpp"
#include "objects/remote_sessions.hpp"
#include "objects/requests.hpp"
#include "objects/router.hpp"
#include "objects/store_operations.hpp"
#include "objects/subscribers.hpp"
#include "objects/subscriptions.hpp"
#include "objects/turn_watch.hpp"
#include "objects/vacancies.hpp"

namespace spotmesh::objects {
namespace {

class SessionCaller final : public Caller {
 public:
  SessionCaller(Core& core, const SessionId& session) : Caller(core, {}), session_(session) {}

 private:
  Logger make_logger() const override {
    return {core().seams.log, "session", {{"session", to_string(session_)}}};
  }

  const SessionId session_;
};

}  // namespace

ObjectsNode::ObjectsNode(const FrozenApplication& application, NodeIdentity identity,
                         ObjectsConfig config, const Seams& seams) {
  if (auto valid = location::validate(config.lease); !valid) {
    throw ConfigurationError(valid.error().message());
  }
  core_ = std::make_unique<Core>(application, std::move(identity), std::move(config), seams);
  publisher_ = std::make_unique<DescriptorPublisher>(*core_);
  turn_watch_ = std::make_unique<TurnWatch>(*core_);
  core_->directory->on_gone(
      [peers = core_->peers.get()](const mesh::Peer& peer, const Error& reason) {
        peers->end(peer, reason);
      });
}

ObjectsNode::~ObjectsNode() { abandon(); }

void ObjectsNode::set_sessions(SessionRoutes& sessions) { core_->sessions = &sessions; }

void ObjectsNode::set_peers(mesh::Peers& peers) { core_->peers->set_peers(peers); }

void ObjectsNode::set_advertised_address(std::string address) {
  // Operators may be asking already.
  core_->strand.post([this, address = std::move(address)]() mutable {
    core_->advertised_address = std::move(address);
  });
}

mesh::PeerHandler& ObjectsNode::peer_handler() { return *core_->peers; }

const mesh::AddressBook& ObjectsNode::addresses() const { return *core_->directory; }

void ObjectsNode::on_fenced(std::function<void(std::string)> told) { fenced_ = std::move(told); }

void ObjectsNode::on_leaving(std::function<void(std::function<void()>)> told) {
  leaving_ = std::move(told);
}

void ObjectsNode::start(std::function<void(Result<void>)> done) {
  core_->strand.post([this, done = std::move(done)]() mutable {
    starting_ = std::make_unique<Starting>(*core_, *publisher_, std::move(done));
    turn_watch_->start();
    core_->lease->start(
        {.acquired = [this](Result<void> acquired) { starting_->on_lease(std::move(acquired)); },
         .epoch_changed =
             [this] {
               core_->log(LogLevel::Warning, "the store has forgotten: it shows a new epoch");
             },
         .reasserted =
             [this] {
               publisher_->reassert();
               core_->subscriptions->on_reasserted();
               core_->publications->on_reasserted();
             },
         .fenced = [this](const std::string& reason) { on_lease_lost(reason); },
         .released = [this] { stopping_->on_released(); }});
  });
}

void ObjectsNode::stop(Instant deadline, std::function<void()> done) {
  core_->strand.post([this, deadline, done = std::move(done)]() mutable {
    const auto stopped = [this, done = std::move(done)] {
      if (starting_) starting_->give_up(core_->stopping_error());
      turn_watch_->stop();
      let_go();
      done();
    };
    stopping_ = std::make_unique<Stopping>(*core_, *publisher_, starting_.get(), deadline, leaving_,
                                           stopped);
    stopping_->begin();
  });
}

void ObjectsNode::on_lease_lost(const std::string& reason) {
  core_->log(LogLevel::Error, fmt::format("this node's lease is lost: {}", reason));
  core_->emit("node.fenced", core_->identity.rid.text, {{"reason", reason}});
  core_->set_lease_lost();
  const Error error = core_->stopping_error();
  // With this reason, and not with what stops because of it.
  if (starting_) starting_->give_up(error);
  publisher_->stop();
  core_->directory->stop();
  for (const auto& gate : core_->gates->all()) gate->abandon();
  core_->creations->stop_all(error);
  core_->router->refuse_all(error);
  core_->publications->refuse_all(error);
  core_->peers->end_calls(error);
  core_->requests->complete_all(error);
  if (fenced_) fenced_(reason);
  if (stopping_) stopping_->on_released();
}

void ObjectsNode::abandon() {
  core_->strand.close();
  let_go();
}

// Nothing runs any more: ends the circles of references in which cells hold each other.
void ObjectsNode::let_go() {
  core_->set_stopped();
  core_->admission.fence();
  for (const auto& gate : core_->gates->all()) gate->abandon();
  const Error error =
      Error::shutting_down(fmt::format("node {} has ended", core_->identity.rid.text));
  core_->router->refuse_all(error);
  core_->publications->refuse_all(error);
  core_->peers->end_calls(error);
  core_->requests->complete_all(error);
  core_->creations->let_go();
  core_->joins->let_go();
  core_->farewells->let_go();
  core_->remote_sessions->let_go();
  for (const auto& actor : core_->registry->actors()) {
    actor->timers().close();
    actor->mailbox().close(error);
    actor->drop_claims();
    core_->registry->remove(*actor);
  }
  core_->subscribers->clear();
  for (const auto& spot : core_->registry->spots()) {
    spot->timers().close();
    spot->mailbox().close(error);
    spot->drop_claims();
    spot->drop_members();
    core_->registry->remove(*spot);
  }
  core_->checkpoints->stop();
  core_->operations->vacancies().stop();
  core_->entry_spots.clear();
}

Bindings& ObjectsNode::bindings() { return *core_->bindings; }

std::unique_ptr<Caller> ObjectsNode::new_session_caller(const SessionId& session) {
  return std::make_unique<SessionCaller>(*core_, session);
}

const NodeIdentity& ObjectsNode::identity() const { return core_->identity; }
const Metrics& ObjectsNode::metrics() const { return core_->metrics; }

}  // namespace spotmesh::objects
