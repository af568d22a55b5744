// The attributes that Spotmesh adds to tables. The compiler checks how they are written and carries
// them in the binary schema, where the gateway and the generators read them.
#pragma once

#include <flatbuffers/idl.h>

#include "packetc/diagnostic.hpp"

namespace spotmesh::packetc {

// Makes the attributes usable without an `attribute "…";` line in every schema.
void declare_attributes(flatbuffers::Parser& parser);

// Refuses a wrong value, an attribute on what is not a table, and a reply that names no table.
Checked<void> check_attributes(const flatbuffers::Parser& parser,
                               const flatbuffers::StructDef& object);

bool is_packet(const flatbuffers::StructDef& object);

}  // namespace spotmesh::packetc
