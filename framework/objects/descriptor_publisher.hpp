// DescriptorPublisher: what this node tells the others about itself, in the store.
#pragma once

#include <functional>
#include <optional>

#include <spotmesh/error.hpp>

#include "location/records.hpp"
#include "objects/store_port.hpp"

namespace spotmesh::objects {

class Core;

// Strand only. A change of state is written at once, changed counts every few seconds: they are
// hints.
class DescriptorPublisher {
 public:
  explicit DescriptorPublisher(Core& core);

  // `done` is told when it is written, or that it cannot be.
  void publish(location::HostState state, std::function<void(Result<void>)> done);
  // Ends the periodic writes.
  void stop() { timer_.cancel(); }

 private:
  location::NodeDescriptor descriptor() const;
  void write(std::function<void(Result<void>)> done);
  void on_timer();

  Core& core_;
  StrandTimer timer_;
  location::HostState state_ = location::HostState::Preparing;
  std::optional<location::NodeDescriptor> written_;
  std::optional<location::StoreVersion> version_;
  bool is_writing_ = false;
  bool is_changed_ = false;
};

}  // namespace spotmesh::objects
