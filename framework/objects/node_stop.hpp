// The clean end of an ObjectsNode, step by step on the strand.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <spotmesh/time.hpp>

#include "location/settle.hpp"
#include "location/store.hpp"
#include "objects/core.hpp"
#include "objects/descriptor_publisher.hpp"
#include "objects/objects_node.hpp"
#include "objects/spot_cell.hpp"
#include "objects/store_port.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::objects {

class ObjectsNode::Stopping {
 public:
  using LeavingHook = std::function<void(std::function<void()> go_on)>;

  // `starting` is null when the node was not started; `leaving` may be empty.
  Stopping(Core& core, DescriptorPublisher& publisher, const Starting* starting, Instant deadline,
           LeavingHook leaving, std::function<void()> done);

  void begin();
  // The lease was given back, or is lost.
  void on_released();

 private:
  enum class Phase {
    Draining,  // what was accepted ends
    Ending,    // what still waited has been completed with ShuttingDown, and ends
    Removing,  // records are deleted
    Leaving,   // peers take what they were sent last
    Releasing,
    Done
  };

  void close_spots();
  void look();
  bool is_quiet() const;
  void end_what_waits();
  void remove_records();
  void remove_next();
  void on_removed(const location::SettleOutcome& outcome);
  void leave();
  void release();

  Core& core_;
  DescriptorPublisher& publisher_;
  const Starting* const starting_;
  const Instant deadline_;
  Instant ending_until_;
  const LeavingHook leaving_;
  std::function<void()> done_;
  StrandTimer timer_;
  Phase phase_ = Phase::Draining;
  std::vector<runtime::Ref<SpotCell>> closing_;  // whose on_closing callbacks have not ended
  std::vector<location::Condition> records_;
  std::vector<location::Condition> under_removal_;  // the batch in the commit under way
};

}  // namespace spotmesh::objects
