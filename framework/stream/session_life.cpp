#include "stream/session_life.hpp"

namespace spotmesh::stream {

std::string_view to_string(SessionState state) {
  switch (state) {
    case SessionState::Open:
      return "Open";
    case SessionState::Replaced:
      return "Replaced";
    case SessionState::Closing:
      return "Closing";
    case SessionState::Lost:
      return "Lost";
    case SessionState::Draining:
      return "Draining";
    case SessionState::Gone:
      return "Gone";
  }
  return "unknown";
}

bool SessionLife::replace() {
  if (state_ != SessionState::Open) return false;
  state_ = SessionState::Replaced;
  return true;
}

bool SessionLife::close() {
  if (!is_live()) return false;
  state_ = SessionState::Closing;
  return true;
}

bool SessionLife::lose_link() {
  switch (state_) {
    case SessionState::Open:
    case SessionState::Replaced:
    case SessionState::Closing:
      state_ = SessionState::Lost;
      return true;
    case SessionState::Draining:
      state_ = SessionState::Gone;
      return true;
    case SessionState::Lost:
    case SessionState::Gone:
      return false;
  }
  return false;
}

bool SessionLife::finish_disconnect() {
  switch (state_) {
    case SessionState::Closing:
      state_ = SessionState::Draining;
      return true;
    case SessionState::Lost:
      state_ = SessionState::Gone;
      return true;
    case SessionState::Open:
    case SessionState::Replaced:
    case SessionState::Draining:
    case SessionState::Gone:
      return false;
  }
  return false;
}

}  // namespace spotmesh::stream
