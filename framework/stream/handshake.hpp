// Handshake: a link whose client has to say Hello before there is a session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ref_counted.hpp"
#include "runtime/timers.hpp"
#include "stream/client_links.hpp"
#include "stream/client_session.hpp"
#include "stream/gateway.hpp"
#include "stream/session_protocol.hpp"

namespace spotmesh::stream {

// Waits for Hello, answers it with Welcome and hands link and protocol to a session, or tells the
// client why not and closes. Bounded in time by StreamOptions::handshake_timeout.
//
// The link's calls come one at a time; expire(), shut_down() and abandon() from any thread.
class Handshake final : public runtime::RefCounted {
 public:
  Handshake(std::shared_ptr<Gateway> gateway, ClientLink& link, std::string remote_address,
            std::unique_ptr<SessionProtocol> protocol);

  void start();

  // The link's calls. Once on_bytes() has returned a session, all that follows is that one's.
  SessionDirectory::SessionRef on_bytes(ByteView bytes);
  void on_closed();

  // Too late, or others need the place.
  void expire(std::string reason);
  void shut_down(const std::string& reason);
  void abandon();

 private:
  class Timer final : public runtime::TimerEntry {
   public:
    explicit Timer(Handshake& handshake) : handshake_(handshake) {}
    void on_timer(Instant) override;

   private:
    Handshake& handshake_;
  };

  // What one event leads to; false when nothing more is read here.
  bool take_locked(InboundEvent event);
  bool take_heartbeat_locked(const InboundEvent& event);
  void welcome_locked();
  void refuse_and_tell_locked(const wire::WebSocketClose& close);
  void refuse_locked(const wire::WebSocketClose& close);
  void leave();

  const std::shared_ptr<Gateway> gateway_;
  const std::string remote_address_;
  Timer timer_;

  std::mutex mutex_;  // guards all below
  ClientLink* link_;  // null once the link is somebody else's or on its way out
  std::unique_ptr<SessionProtocol> protocol_;
  SessionDirectory::SessionRef session_;  // made, and not started yet
  unsigned heartbeats_ = 0;
};

// The links that have not said Hello, oldest first: one too many pushes out the oldest, so that who
// connects and says nothing ends his own connections, not those of players. Any thread.
class Handshakes {
 public:
  explicit Handshakes(std::size_t most) : most_(most) {}

  // The one that has to go to make room, if one has.
  runtime::Ref<Handshake> add(runtime::Ref<Handshake> handshake);
  bool remove(const Handshake& handshake);
  std::vector<runtime::Ref<Handshake>> all() const;

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, runtime::Ref<Handshake>> by_age_;
  std::map<const Handshake*, std::uint64_t> ages_;
  std::uint64_t added_ = 0;
};

}  // namespace spotmesh::stream
