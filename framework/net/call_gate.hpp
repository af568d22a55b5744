// Calls to somebody who may go away.
#pragma once

#include <condition_variable>
#include <mutex>

namespace spotmesh::net {

// Open until it is closed for good, which waits for whoever is inside. Safe from any thread.
class CallGate {
 public:
  // Whether the call may be made; leave() follows it then.
  bool enter() {
    std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    ++calls_;
    return true;
  }
  void leave() {
    std::lock_guard lock(mutex_);
    if (--calls_ == 0) call_ended_.notify_all();
  }
  // Not from within a call.
  void close() {
    std::unique_lock lock(mutex_);
    is_closed_ = true;
    call_ended_.wait(lock, [this] { return calls_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable call_ended_;
  bool is_closed_ = false;
  unsigned calls_ = 0;
};

}  // namespace spotmesh::net
