// StrandLink: the way from callbacks of the world to a node's strand, which may have ended.
#pragma once

#include <functional>
#include <mutex>

namespace spotmesh::objects {

class Core;

// Shared by the node and by all that is under way for it: operations of the store, timers. Any
// thread.
class StrandLink {
 public:
  explicit StrandLink(Core& core) : core_(&core) {}
  // A job of the strand, while the node lives; else nothing.
  void post(std::function<void(Core&)> job);
  // The node ends: nothing is posted once it has returned.
  void cut();

 private:
  std::mutex mutex_;
  Core* core_;
};

}  // namespace spotmesh::objects
