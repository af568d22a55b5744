#include "objects/creations.hpp"

#include <utility>

#include "objects/core.hpp"
#include "objects/creation_bodies.hpp"
#include "objects/creation_run.hpp"
#include "objects/creation_service.hpp"
#include "objects/node_directory.hpp"
#include "objects/peer_port.hpp"

namespace spotmesh::objects {

Creations::Creations(Core& core)
    : core_(core), service_(std::make_unique<CreationService>(core, *this)) {
  core.peers->handle_on_strand(PeerKind::Admitted,
                               [this](const PeerMessage& message) { return on_admitted(message); });
  core.directory->on_gone(
      [this](const mesh::Peer& node, const Error& reason) { on_node_gone(node, reason); });
}

Creations::~Creations() = default;

bool Creations::ByStart::operator()(const std::shared_ptr<CreationRun>& a,
                                    const std::shared_ptr<CreationRun>& b) const {
  return a->order < b->order;
}

void Creations::start(CreateSpec spec, Done done) {
  core_.strand.post([this, spec = std::move(spec), done = std::move(done)]() mutable {
    begin(std::move(spec), std::move(done));
  });
}

void Creations::begin(CreateSpec spec, Done done) {
  if (core_.is_draining()) {
    return done({.result = fail(core_.stopping_error()), .is_turned_away = true});
  }
  auto run =
      std::make_shared<CreationRun>(core_, *this, std::move(spec), std::move(done), ++started_);
  runs_.insert(run);
  by_operation_[run->operation()] = run.get();
  run->feed(location::create::Start{});
}

void Creations::withdraw(const location::OperationKey& operation) {
  const auto run = by_operation_.find(operation);
  if (run != by_operation_.end()) run->second->feed(location::create::Withdrawn{});
}

void Creations::stop_all(const Error& reason) {
  const auto runs = runs_;
  for (const auto& run : runs) run->stop(reason);
}

void Creations::ended(const std::shared_ptr<CreationRun>& run) {
  const auto known = by_operation_.find(run->operation());
  // A repetition may have begun while this one was settled.
  if (known != by_operation_.end() && known->second == run.get()) by_operation_.erase(known);
  runs_.erase(run);
}

void Creations::let_go() {
  for (const auto& run : runs_) run->let_go();
}

Result<void> Creations::on_admitted(const PeerMessage& message) {
  const auto operation = read_operation(message);
  if (!operation) return fail(operation.error());
  const auto run = by_operation_.find({core_.identity.rid, core_.identity.lifecycle, *operation});
  if (run == by_operation_.end()) return {};
  CreationAway* away = run->second->away();
  if (away != nullptr && away->target() == message.from) away->feed(durable::Admitted{});
  return {};
}

void Creations::on_node_gone(const mesh::Peer& node, const Error& reason) {
  const auto runs = runs_;
  for (const auto& run : runs) {
    CreationAway* away = run->away();
    if (away != nullptr && away->target() == node) away->feed(durable::RunOver{reason});
    // Nobody waits for what that node has asked for.
    const location::OperationKey& operation = run->operation();
    if (mesh::Peer{operation.source_rid, operation.source_lifecycle} == node) {
      run->feed(location::create::Withdrawn{});
    }
  }
}

}  // namespace spotmesh::objects
