// A schema file as the compiler sees it: parsed by FlatBuffers, checked by Spotmesh's rules.
#pragma once

#include <flatbuffers/idl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "packetc/diagnostic.hpp"

namespace spotmesh::packetc {

// A table that is a message.
struct SchemaPacket {
  std::string name;  // "tictactoe.PlaceMark"
  std::uint32_t id = 0;
  const flatbuffers::StructDef* table = nullptr;
};

struct Schema {
  std::unique_ptr<flatbuffers::Parser> parser;
  std::string file;  // as the user named it
  std::string stem;  // "tictactoe" for some/where/tictactoe.fbs

  // What this file itself declares, in its order.
  std::vector<const flatbuffers::StructDef*> objects;
  std::vector<const flatbuffers::EnumDef*> enums;
  std::vector<SchemaPacket> packets;
  // Those and the packets of all files it includes, sorted by name.
  std::vector<SchemaPacket> all_packets;
  // The stems of the files that it includes directly, sorted.
  std::vector<std::string> includes;
  // All files it includes, directly or not, and itself, as paths that can be compared.
  std::vector<std::string> included_files;
  // Where packets() goes.
  const flatbuffers::Namespace* home = nullptr;
  // The binary schema of everything above.
  std::string binary;

  bool is_own(const flatbuffers::Definition& definition) const { return definition.file == file; }
};

// Reads, parses and checks `file`. Includes are looked for beside the including file, then in
// `include_directories`.
Checked<Schema> load_schema(const std::string& file,
                            const std::vector<std::string>& include_directories);

// "tictactoe.Mark"
std::string full_name(const flatbuffers::Definition& definition);

}  // namespace spotmesh::packetc
