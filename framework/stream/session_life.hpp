// SessionLife: the states of a session, from accept to the moment when nothing of it is left.
#pragma once

#include <cstdint>
#include <string_view>

namespace spotmesh::stream {

// The table of states and events stands in framework/docs/sessions.md.
enum class SessionState : std::uint8_t {
  Open,      // packets go both ways
  Replaced,  // as Open, but an Actor was taken over; closed soon
  Closing,   // the close is on its way out; the disconnect callback has not ended
  Lost,      // the link has ended; the disconnect callback has not
  Draining,  // the disconnect callback has ended; the link has not
  Gone
};
std::string_view to_string(SessionState state);

// Not thread-safe. Each event reports whether it changed the state; one that comes in a state that
// it means nothing to changes nothing, so whoever sees `true` acts, once.
class SessionLife {
 public:
  SessionState state() const { return state_; }
  // Packets are taken from the client and pushes accepted for it.
  bool is_live() const { return state_ == SessionState::Open || state_ == SessionState::Replaced; }
  bool has_link() const { return state_ != SessionState::Lost && state_ != SessionState::Gone; }

  // Another session took one of its Actors. True for the first one only.
  bool replace();
  // The server's side decided on the end, or the client said good-bye.
  bool close();
  // The link has ended.
  bool lose_link();
  // The disconnect callback has ended.
  bool finish_disconnect();

 private:
  SessionState state_ = SessionState::Open;
};

}  // namespace spotmesh::stream
