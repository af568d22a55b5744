// A player that a program moves.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <spotmesh/client/connection.hpp>
#include <spotmesh/error.hpp>

#include "tictactoe.packets.hpp"

namespace tictactoe {

// Long enough for a busy machine; only what goes wrong takes that long.
inline constexpr auto patience = std::chrono::seconds(10);

class BotPlayer {
 public:
  // Against the server at that port of this machine, in either form of the protocol.
  BotPlayer(std::uint16_t port, std::string name,
            spotmesh::client::Form form = spotmesh::client::Form::Binary);

  // The same player once more, without a connection yet: as from another page of one browser,
  // which may have come to another server.
  BotPlayer on_another_page(std::uint16_t port) const;

  const std::string& name() const { return name_; }
  // The room as the server showed it last; nothing in the lobby.
  const std::optional<GameState>& state() const { return state_; }
  // What this player plays; None for a spectator.
  Mark mark() const;

  // Opens a connection and logs in, as the same player each time; a connection that was there is
  // given up without a word. Where the player is comes with it.
  spotmesh::Result<LoginResult> log_in();
  void lose_connection() { connection_->cut(); }

  spotmesh::Result<RoomList> list_rooms() { return connection_->request<RoomList>(ListRooms{}); }
  // These return when the room has let the player in; Rejected with its reason when it has not.
  spotmesh::Result<void> open_room(const std::string& room) { return enter(OpenRoom{room}); }
  spotmesh::Result<void> join_room(const std::string& room) { return enter(JoinRoom{room}); }
  spotmesh::Result<void> spectate(const std::string& room) { return enter(Spectate{room}); }
  // Returns when the player is in the lobby again.
  spotmesh::Result<void> leave_room();

  spotmesh::Result<void> place(int cell);
  spotmesh::Result<void> ask_rematch();

  // Waits until the room, as this player sees it, is as wanted.
  using Wish = std::function<bool(const GameState&)>;
  spotmesh::Result<GameState> wait_until(const Wish& wish, spotmesh::Duration timeout = patience);
  // Waits for a push of one kind and passes over others, room states but for the record.
  template <spotmesh::Packet P>
  spotmesh::Result<P> wait_for(spotmesh::Duration timeout = patience) {
    auto push =
        wait_for_push([](const spotmesh::Message& message) { return message.holds<P>(); }, timeout);
    if (!push) return fail(push.error());
    return push->template decode<P>();
  }

 private:
  spotmesh::Result<LoginResult> introduce(spotmesh::client::Connection& connection) const;
  template <spotmesh::Packet P>
  spotmesh::Result<void> enter(const P& request) {
    if (auto entering = connection_->request<Entering>(request); !entering) {
      return fail(entering.error());
    }
    return arrive();
  }
  spotmesh::Result<void> arrive();
  spotmesh::Result<spotmesh::Message> wait_for_push(
      const std::function<bool(const spotmesh::Message&)>& is_wanted, spotmesh::Duration timeout);
  void note(const GameState& state);

  std::uint16_t port_;
  std::string name_;
  spotmesh::client::Form form_;
  std::string device_token_;
  std::optional<spotmesh::client::Connection> connection_;
  std::optional<GameState> state_;
};

}  // namespace tictactoe
