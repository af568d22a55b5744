// The parts of the generated source file.
#pragma once

#include <flatbuffers/idl.h>

#include "packetc/cpp_types.hpp"
#include "packetc/writer.hpp"

namespace spotmesh::packetc {

// to_string and parse, of unions those of their type.
void write_enum_functions(Writer& out, const flatbuffers::EnumDef& definition);

void write_struct_codec(Writer& out, const flatbuffers::StructDef& object);

void write_table_codec(Writer& out, const flatbuffers::StructDef& table, const CppTypes& types);

void write_union_codec(Writer& out, const flatbuffers::EnumDef& definition, const CppTypes& types);

}  // namespace spotmesh::packetc
