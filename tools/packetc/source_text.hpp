// Finds declarations in the text of a schema: FlatBuffers' parser keeps no positions once it is
// done.
#pragma once

#include <string>
#include <string_view>

#include "packetc/diagnostic.hpp"

namespace spotmesh::packetc {

// A diagnostic at the place where `declaration` (the bare name of a table, struct, enum or union)
// is declared in the file, or where its field `field` is if that is not empty. Without a position
// if the file does not show one.
Diagnostic at_declaration(const std::string& file, std::string_view declaration,
                          std::string_view field, std::string message);

}  // namespace spotmesh::packetc
