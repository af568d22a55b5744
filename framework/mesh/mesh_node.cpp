#include "mesh/mesh_node.hpp"

#include <utility>

#include "mesh/driver.hpp"

namespace spotmesh::mesh {

MeshNode::MeshNode(Peer self, MeshOptions options, const MeshSeams& seams)
    : driver_(std::make_unique<Driver>(std::move(self), std::move(options), seams)) {}

MeshNode::~MeshNode() = default;

Result<std::string> MeshNode::start() { return driver_->start(); }

void MeshNode::check_address(std::string address, std::function<void(Result<void>)> done) {
  driver_->check_address(std::move(address), std::move(done));
}

void MeshNode::stop(Duration linger, std::function<void()> done) {
  driver_->stop(linger, std::move(done));
}

void MeshNode::abandon() { driver_->abandon(); }

Result<void> MeshNode::send(const Peer& to, Lane lane, SharedBytes message) {
  auto sent = driver_->outbound().send(to, lane, std::move(message));
  if (!sent) driver_->metrics().refused_sends.add();
  return sent;
}

void MeshNode::end(const Peer& peer, const Error& reason) { driver_->end(peer, reason); }

bool MeshNode::is_over(const Peer& peer) const { return driver_->outbound().is_over(peer); }

const Peer& MeshNode::self() const { return driver_->self(); }

const MeshMetrics& MeshNode::metrics() const { return driver_->metrics(); }

}  // namespace spotmesh::mesh
