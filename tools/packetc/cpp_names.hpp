// C++ names of what a schema declares.
#pragma once

#include <flatbuffers/idl.h>

#include <string>
#include <string_view>

namespace spotmesh::packetc {

// The name itself, with an underscore behind it if C++ keeps that word for itself.
std::string cpp_identifier(std::string_view name);

// "tictactoe::lobby"; empty for the global namespace.
std::string cpp_namespace(const flatbuffers::Namespace& name_space);

// "::tictactoe::Mark"
std::string cpp_qualified(const flatbuffers::Definition& definition);

// "tictactoe::lobby::Mark" as one word for names of generated constants: "tictactoe_lobby_Mark".
std::string cpp_word(const flatbuffers::Definition& definition);

}  // namespace spotmesh::packetc
