// Readiness: what a worker hears of its client connections.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstddef>

namespace spotmesh::net {

// An epoll of the worker's own beside Asio's: Asio asks the system anew before each wait and makes
// an operation of it, which costs a short message more than its handling does. Here a connection is
// entered once, and told of each change.
//
// For one thread at a time, but for add().
class Readiness {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // The connection has become readable, or writable, or both. Told at each change: whoever does
    // not read all there is has to remember that. `is_over`: it has ended on the other side, or
    // failed, behind what can still be read.
    virtual void on_ready(bool is_readable, bool is_writable, bool is_over) = 0;
  };

  Readiness();  // ConfigurationError when the system has no epoll to give
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;

  // False, with errno: the system takes no more. What is ready now is told, too.
  bool add(int descriptor, Waiter& waiter);
  // From then on the waiter is not called.
  void remove(int descriptor, const Waiter& waiter);

  // Tells those whose connections have changed, a number of them at most. Returns how many.
  unsigned tell();

  // Becomes readable when there is something to tell, between alert(true) and alert(false).
  int descriptor() const { return outer_; }
  void alert(bool is_on);

 private:
  void close_both();

  static constexpr std::size_t told_at_once = 64;

  int descriptor_ = -1;
  // Has the other one in it, and nothing else. The system looks for circles whenever one epoll is
  // entered into another, through all that is in them: so this one is, once, and is told to look
  // away while nobody sleeps.
  int outer_ = -1;
  std::array<epoll_event, told_at_once> events_;
  std::size_t next_ = 0;  // of events_, to be told
  std::size_t end_ = 0;
};

}  // namespace spotmesh::net
