// Names that people choose, and the ids that follow from them.
#pragma once

#include <string>
#include <string_view>

#include <spotmesh/error.hpp>
#include <spotmesh/ids.hpp>

namespace tictactoe {

// Stable types: how the classes of this game are called in store records and create calls.
inline constexpr std::string_view player_type = "tictactoe.player";
inline constexpr std::string_view room_type = "tictactoe.room";
inline constexpr std::string_view directory_type = "tictactoe.directory";

// The name without spaces around it. InvalidOperation, with a message for the player, unless that
// leaves 1 to 24 characters (32 for a room), none of them a control character.
spotmesh::Result<std::string> clean_player_name(std::string_view name);
spotmesh::Result<std::string> clean_room_name(std::string_view name);
// 16 to 128 printable ASCII characters; InvalidOperation otherwise.
spotmesh::Result<void> check_device_token(std::string_view token);

// Names that differ only in the case of ASCII letters are the same player, and the same room.
std::string player_id(std::string_view name);
std::string room_id(std::string_view name);
// Each node has a directory of its own, which knows the rooms of that node.
std::string directory_id(const spotmesh::NodeRid& node);

}  // namespace tictactoe
