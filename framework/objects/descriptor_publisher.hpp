// DescriptorPublisher: what this node tells the others about itself, in the store.
#pragma once

#include <functional>
#include <optional>

#include <spotmesh/error.hpp>

#include "location/records.hpp"
#include "location/settle.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

class Core;

// What this node says of itself at this moment, but for its state. Strand only.
location::NodeDescriptor describe(const Core& core);

// Strand only. A change of state is written at once, changed counts every few seconds: they are
// hints. What cannot be written now, or was forgotten by the store, is written as soon as it can
// be.
class DescriptorPublisher {
 public:
  explicit DescriptorPublisher(Core& core);

  // `done` is told once: when this state is written, or the lease is lost before.
  void publish(location::HostState state, std::function<void(Result<void>)> done);
  // The lease stands in a new epoch: whatever the store shows there is written over.
  void reassert();
  // Ends the writes.
  void stop();

 private:
  location::NodeDescriptor descriptor() const;
  void look();
  void read();
  void write(location::NodeDescriptor wanted);
  void on_settled(location::NodeDescriptor wanted, const location::SettleOutcome& outcome);
  void tell(Result<void> result);

  Core& core_;
  StrandTimer timer_;
  location::HostState state_ = location::HostState::Preparing;
  std::optional<location::NodeDescriptor> written_;
  std::optional<location::StoreVersion> version_;
  std::function<void(Result<void>)> done_;
  bool must_read_ = false;  // `version_` may be out of date
  bool is_busy_ = false;
  bool is_stopped_ = false;
};

}  // namespace spotmesh::objects
