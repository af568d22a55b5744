// SessionEnding: why a session ends, for the client, for the game and for what still waits.
#pragma once

#include <string>
#include <utility>

#include <spotmesh/session.hpp>

#include "wire/close_codes.hpp"

namespace spotmesh::stream {

struct SessionEnding {
  DisconnectReason reason;
  wire::WebSocketClose close;  // what the client is told, while it can be

  static SessionEnding closed_by_client(wire::WebSocketClose said);
  static SessionEnding closed_by_game(std::string reason);
  static SessionEnding replaced(std::string reason);
  static SessionEnding unresponsive(std::string reason);
  static SessionEnding broke_protocol(wire::WebSocketClose close);
  static SessionEnding slow_reader(std::string reason);
  static SessionEnding over_quota(std::string reason);
  static SessionEnding shutdown(std::string reason);
  static SessionEnding failed(std::string reason);
  static SessionEnding link_lost(std::string reason);

  // Whether packets that were taken before the end are handled still: they are when it was the
  // client's side that ended, for it may have said good-bye with them.
  bool runs_what_waits() const;
  // The client broke a rule or a bound, which whoever reads the log should know.
  bool is_misconduct() const;
};

}  // namespace spotmesh::stream
