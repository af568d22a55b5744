// LinkEnd: this node's end of one connection, between the Transport's threads and the strand.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/error.hpp>
#include <spotmesh/limits.hpp>

#include "mesh/session_machine.hpp"
#include "mesh/transport.hpp"
#include "runtime/ref_counted.hpp"

namespace spotmesh::mesh {

// Any thread. What arrives is gathered until the strand takes it; a peer that sends more than the
// strand takes is cut off at a bound.
class LinkEnd final : public runtime::RefCounted, public DialHandler {
 public:
  // Under no lock.
  class Owner {
   public:
    virtual ~Owner() = default;
    // take() has something, when it had nothing before.
    virtual void on_arrived(LinkEnd& end) = 0;
  };

  // What take() gives, in this order: first `is_up`, then frames, then how it ended.
  struct Arrived {
    bool is_up = false;  // of a dial
    std::vector<SharedBytes> frames;
    std::optional<std::string> dial_failure;
    std::optional<std::string> down;
  };

  // A dial.
  LinkEnd(ConnectionId id, Owner& owner) : id_(id), owner_(owner) {}
  // A connection that the peer has opened.
  LinkEnd(ConnectionId id, Owner& owner, Connection& connection)
      : id_(id), owner_(owner), connection_(&connection) {}

  ConnectionId id() const { return id_; }
  Arrived take();
  void send(std::vector<SharedBytes> frames);
  void close(std::string reason);
  // The peer has proven itself: what it may have sent unread is much more.
  void trust() { most_unread_.store(limits::mesh_unread_bytes, std::memory_order_relaxed); }

  void on_up(Connection& connection) override;
  void on_dial_failed(Error error) override;
  void on_frames(Connection& connection, std::vector<SharedBytes> frames) override;
  void on_down(Connection& connection, std::string reason) override;

 private:
  ~LinkEnd() override = default;

  // Whether the owner is to be told.
  bool note_locked() { return !std::exchange(is_noted_, true); }

  const ConnectionId id_;
  Owner& owner_;
  std::atomic<std::size_t> most_unread_{limits::mesh_stranger_bytes};

  std::mutex mutex_;
  Connection* connection_ = nullptr;
  bool is_closing_ = false;
  bool is_noted_ = false;
  std::size_t unread_bytes_ = 0;
  Arrived arrived_;
};

}  // namespace spotmesh::mesh
