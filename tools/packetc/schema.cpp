#include "packetc/schema.hpp"

#include <flatbuffers/util.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "packetc/attributes.hpp"
#include "packetc/packet_id.hpp"
#include "packetc/schema_checks.hpp"

namespace spotmesh::packetc {
namespace {

flatbuffers::IDLOptions parser_options(const std::string& file) {
  flatbuffers::IDLOptions options;
  // Binds the parser to the features that generated C++ has: optional scalars and unions of any
  // kind, but no default values for strings and vectors, which a binary schema could not carry.
  options.lang_to_generate = flatbuffers::IDLOptions::kCpp;
  options.no_warnings = true;
  options.binary_schema_comments = true;
  // The attribute bit_flags is one of the builtins.
  options.binary_schema_builtins = true;
  // Written out even when they are 0, so that repair_unsigned_defaults finds them.
  options.force_defaults = true;
  // Paths inside the binary schema are relative to it, so that it is the same on every machine.
  options.project_root = flatbuffers::StripFileName(file);
  if (options.project_root.empty()) options.project_root = ".";
  return options;
}

// Cuts "TEXT:12" or "TEXT: 12" to TEXT and returns the number.
std::optional<int> take_number_at_end(std::string_view& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto digits = text.substr(colon + 1);
  if (digits.starts_with(' ')) digits.remove_prefix(1);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text = text.substr(0, colon);
  return number;
}

// FlatBuffers writes "/abs/game.fbs:3: 7: error: text, originally at: /abs/game.fbs:2".
Diagnostic from_parser_error(const std::string& file, const std::string& error) {
  constexpr std::string_view before_text = ": error: ";
  constexpr std::string_view before_origin = ", originally at: ";
  std::string_view text = error;
  text.remove_prefix(std::min(text.find_first_not_of(" \n"), text.size()));
  const auto mark = text.find(before_text);
  if (mark == std::string_view::npos) return {file, 0, 0, error};
  std::string_view place = text.substr(0, mark);
  text.remove_prefix(mark + before_text.size());
  text = text.substr(0, text.find('\n'));
  const auto column = take_number_at_end(place);
  const auto line = take_number_at_end(place);
  if (!column || !line) return {file, 0, 0, error};
  Diagnostic diagnostic{std::string(place), *line, *column + 1, std::string(text)};
  if (const auto at = text.rfind(before_origin); at != std::string_view::npos) {
    std::string_view origin = text.substr(at + before_origin.size());
    if (const auto origin_line = take_number_at_end(origin)) {
      diagnostic = {std::string(origin), *origin_line, 1, std::string(text.substr(0, at))};
    }
  }
  if (diagnostic.message.starts_with("Default values for strings and vectors")) {
    diagnostic.message =
        "strings and vectors cannot have a default; leave it out, the default is empty";
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(diagnostic.file, file, ignored)) diagnostic.file = file;
  return diagnostic;
}

Checked<std::string> read_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) {
    return refuse({file, 0, 0, "cannot read this schema file"});
  }
  return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

Checked<void> parse(Schema& schema, const std::vector<std::string>& include_directories) {
  const auto text = read_file(schema.file);
  if (!text) return refuse(text.error());
  if (text->find('\0') != std::string::npos) {
    return refuse({schema.file, 0, 0, "the file contains a zero byte; a schema is text"});
  }
  std::vector<const char*> directories;
  for (const auto& directory : include_directories) directories.push_back(directory.c_str());
  directories.push_back(nullptr);
  schema.parser = std::make_unique<flatbuffers::Parser>(parser_options(schema.file));
  declare_attributes(*schema.parser);
  if (!schema.parser->Parse(text->c_str(), directories.data(), schema.file.c_str())) {
    return refuse(from_parser_error(schema.file, schema.parser->error_));
  }
  return {};
}

void collect_definitions(Schema& schema) {
  const auto& parser = *schema.parser;
  for (const auto* enumeration : parser.enums_.vec) {
    if (schema.is_own(*enumeration)) schema.enums.push_back(enumeration);
  }
  for (const auto* object : parser.structs_.vec) {
    if (schema.is_own(*object)) schema.objects.push_back(object);
    if (!is_packet(*object)) continue;
    const auto name = full_name(*object);
    schema.all_packets.push_back({name, packet_id(name), object});
  }
  std::ranges::sort(schema.all_packets, {}, &SchemaPacket::name);
  std::ranges::copy_if(schema.all_packets, std::back_inserter(schema.packets),
                       [&](const auto& packet) { return schema.is_own(*packet.table); });
  schema.home = parser.current_namespace_;
  if (!schema.objects.empty()) schema.home = schema.objects.front()->defined_namespace;
}

Checked<void> collect_includes(Schema& schema) {
  const auto& parser = *schema.parser;
  std::set<std::string> stems;
  for (const auto& include : parser.GetIncludedFiles()) {
    stems.insert(std::filesystem::path(include.schema_name).stem().string());
  }
  schema.includes.assign(stems.begin(), stems.end());
  if (stems.contains(schema.stem)) {
    return refuse(
        {schema.file, 0, 0,
         fmt::format("it includes a file of its own name, {}.fbs; generated headers go by "
                     "that name, so rename one of them",
                     schema.stem)});
  }
  std::error_code ignored;
  for (const auto& [file, includes] : parser.files_included_per_file_) {
    schema.included_files.push_back(std::filesystem::weakly_canonical(file).string());
    for (const auto& include : includes) {
      if (!std::filesystem::equivalent(include.filename, schema.file, ignored)) continue;
      return refuse({schema.file, 0, 0,
                     fmt::format("{} includes this file, which includes it; generated headers "
                                 "cannot do that, so move what both need to a third file",
                                 file)});
    }
  }
  return {};
}

// FlatBuffers stores the default of an unsigned field as a signed number and cuts what does not
// fit; the bits of the right one take its place.
void repair_unsigned_defaults(const flatbuffers::Parser& parser, std::uint8_t* binary) {
  auto* schema = flatbuffers::GetMutableRoot<reflection::Schema>(binary);
  for (const auto* object : parser.structs_.vec) {
    const auto* found = schema->objects()->LookupByKey(full_name(*object).c_str());
    for (const auto* definition : object->fields.vec) {
      const auto& value = definition->value;
      if (value.type.base_type != flatbuffers::BASE_TYPE_ULONG) continue;
      std::uint64_t number = 0;
      flatbuffers::StringToNumber(value.constant.c_str(), &number);
      if (number <= std::numeric_limits<std::int64_t>::max()) continue;
      const auto* field = found->fields()->LookupByKey(definition->name.c_str());
      auto* table = reinterpret_cast<flatbuffers::Table*>(const_cast<reflection::Field*>(field));
      table->SetField<std::int64_t>(reflection::Field::VT_DEFAULT_INTEGER,
                                    static_cast<std::int64_t>(number), 0);
    }
  }
}

}  // namespace

std::string full_name(const flatbuffers::Definition& definition) {
  return definition.defined_namespace->GetFullyQualifiedName(definition.name);
}

Checked<Schema> load_schema(const std::string& file,
                            const std::vector<std::string>& include_directories) {
  Schema schema;
  schema.file = flatbuffers::PosixPath(file.c_str());
  schema.stem = std::filesystem::path(file).stem().string();
  if (auto parsed = parse(schema, include_directories); !parsed) return refuse(parsed.error());
  collect_definitions(schema);
  if (auto collected = collect_includes(schema); !collected) return refuse(collected.error());
  if (auto checked = check_schema(schema); !checked) return refuse(checked.error());
  if (auto checked = check_packet_ids(schema); !checked) return refuse(checked.error());
  schema.parser->Serialize();
  auto& builder = schema.parser->builder_;
  repair_unsigned_defaults(*schema.parser, builder.GetBufferPointer());
  schema.binary.assign(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                       builder.GetSize());
  return schema;
}

}  // namespace spotmesh::packetc
