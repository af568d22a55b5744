// The generated C++: three files per schema.
#pragma once

#include <string>

#include "packetc/schema.hpp"

namespace spotmesh::packetc {

// name.packets.hpp: value structs, enums, PacketTraits, packets(). `has_packets_function` says
// whether this schema is the one of its namespace that defines packets().
std::string cpp_header(const Schema& schema, bool has_packets_function);

// name.packets.cpp: encode, decode, verify and the binary schema.
std::string cpp_source(const Schema& schema, bool has_packets_function);

// name.views.hpp: zero-copy views.
std::string cpp_views(const Schema& schema);

}  // namespace spotmesh::packetc
