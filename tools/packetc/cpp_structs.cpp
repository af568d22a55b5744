#include "packetc/cpp_names.hpp"
#include "packetc/cpp_parts.hpp"
#include "packetc/cpp_types.hpp"

namespace spotmesh::packetc {
namespace {

using flatbuffers::StructDef;

// One statement per scalar of a struct's layout; `access` and `position` grow with nested structs
// and arrays.
void write_struct_member(Writer& out, const flatbuffers::Type& type, const std::string& access,
                         const std::string& position, bool is_write) {
  if (type.base_type == flatbuffers::BASE_TYPE_STRUCT) {
    const auto codec = fmt::format("StructCodec<{}>", plain_type(type));
    out.line("  {}::{}(bytes + {}, {});", codec, is_write ? "write" : "read", position, access);
  } else if (is_write) {
    out.line("  write_at(bytes + {}, {});", position, access);
  } else {
    const auto name = is_octet(type) && access.ends_with("]") ? "std::byte" : plain_type(type);
    out.line("  {} = read_at<{}>(bytes + {});", access, name, position);
  }
}

void write_struct_members(Writer& out, const StructDef& object, bool is_write) {
  for (const auto* field : object.fields.vec) {
    const auto& type = field->value.type;
    const auto access = "value." + cpp_identifier(field->name);
    const auto position = std::to_string(field->value.offset);
    if (type.base_type != flatbuffers::BASE_TYPE_ARRAY) {
      write_struct_member(out, type, access, position, is_write);
      continue;
    }
    const auto element = type.VectorType();
    out.line("  for (std::size_t index = 0; index < {}; ++index) {{", type.fixed_length);
    write_struct_member(out, element, access + "[index]",
                        fmt::format("{} + index * {}", position, flatbuffers::InlineSize(element)),
                        is_write);
    out.line("  }");
  }
}

}  // namespace

void write_struct_codec(Writer& out, const StructDef& object) {
  const auto name = cpp_qualified(object);
  out.line("void StructCodec<{0}>::write(std::uint8_t* bytes, const {0}& value) {{", name);
  write_struct_members(out, object, true);
  out.line("}\n");
  out.line("void StructCodec<{0}>::read(const std::uint8_t* bytes, {0}& value) {{", name);
  write_struct_members(out, object, false);
  out.line("}\n");
}

}  // namespace spotmesh::packetc
