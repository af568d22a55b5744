#include "packetc/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>

#include "packetc/cpp.hpp"
#include "packetc/cpp_names.hpp"
#include "packetc/schema.hpp"
#include "wire/packet_shape.hpp"
#include "wire/schema_prints.hpp"

namespace spotmesh::packetc {
namespace {

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> include_directories;
  std::string output_directory;
};

// Written only when it changed, so that a build does not compile again what is the same.
Checked<void> write_file(const std::filesystem::path& path, const std::string& text) {
  {
    std::ifstream current(path, std::ios::binary);
    if (current && std::string((std::istreambuf_iterator<char>(current)),
                               std::istreambuf_iterator<char>()) == text) {
      return {};
    }
  }
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) return refuse({path.string(), 0, 0, "cannot write this file"});
  return {};
}

Checked<std::vector<Schema>> load_schemas(const Options& options) {
  std::vector<Schema> schemas;
  std::map<std::string, std::string> stems;
  for (const auto& file : options.files) {
    auto schema = load_schema(file, options.include_directories);
    if (!schema) return refuse(schema.error());
    const auto [place, is_new] = stems.emplace(schema->stem, file);
    if (!is_new) {
      return refuse(
          {file, 0, 0,
           fmt::format("{} has the same name, and generated files go by it; rename one of "
                       "them",
                       place->second)});
    }
    schemas.push_back(std::move(*schema));
  }
  return schemas;
}

bool does_include(const Schema& schema, const Schema& other) {
  const auto path = std::filesystem::weakly_canonical(other.file).string();
  return std::ranges::find(schema.included_files, path) != schema.included_files.end();
}

// Of the schemas that share a namespace, the one that includes all others gives it packets().
Checked<bool> has_packets_function(const Schema& schema, const std::vector<Schema>& schemas) {
  const auto home = cpp_namespace(*schema.home);
  for (const auto& other : schemas) {
    if (&other == &schema || cpp_namespace(*other.home) != home) continue;
    if (does_include(other, schema)) return false;
    const auto is_above_both = [&](const Schema& root) {
      return cpp_namespace(*root.home) == home && does_include(root, schema) &&
             does_include(root, other);
    };
    if (!does_include(schema, other) && std::ranges::none_of(schemas, is_above_both)) {
      return refuse(
          {schema.file, 0, 0,
           fmt::format("it shares the namespace '{}' with {}; one schema of a namespace "
                       "has to include all its others, so that {}::packets() has them all",
                       home, other.file, home)});
    }
  }
  return true;
}

Checked<void> generate_cpp(const Options& options) {
  const auto schemas = load_schemas(options);
  if (!schemas) return refuse(schemas.error());
  const std::filesystem::path directory(options.output_directory);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return refuse({directory.string(), 0, 0, "cannot make this directory: " + error.message()});
  }
  for (const auto& schema : *schemas) {
    const auto with_packets = has_packets_function(schema, *schemas);
    if (!with_packets) return refuse(with_packets.error());
    const auto base = directory / schema.stem;
    const std::map<std::string, std::string> outputs = {
        {base.string() + ".packets.hpp", cpp_header(schema, *with_packets)},
        {base.string() + ".packets.cpp", cpp_source(schema, *with_packets)},
        {base.string() + ".views.hpp", cpp_views(schema)}};
    for (const auto& [path, text] : outputs) {
      if (auto written = write_file(path, text); !written) return written;
    }
  }
  return {};
}

Checked<void> list_packets(const Options& options, std::ostream& out) {
  const auto schemas = load_schemas(options);
  if (!schemas) return refuse(schemas.error());
  std::map<std::string, std::uint32_t> packets;
  for (const auto& schema : *schemas) {
    for (const auto& packet : schema.all_packets) packets[packet.name] = packet.id;
  }
  for (const auto& [name, id] : packets) out << fmt::format("0x{:08x}  {}\n", id, name);
  return {};
}

Checked<void> list_lines(const Options& options, std::ostream& out) {
  const auto schemas = load_schemas(options);
  if (!schemas) return refuse(schemas.error());
  wire::SchemaPrints prints;
  for (const auto& schema : *schemas) {
    const wire::SchemaShapes shapes(as_bytes(schema.binary));
    for (const auto& packet : schema.all_packets) prints.add(*shapes.find_object(packet.name));
  }
  for (const auto& print : prints.prints()) {
    out << print.name << '\n';
    const auto lines = prints.lines_of(print.name);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (print.lines[i] == 0) continue;
      out << fmt::format("  {:3}  0x{:08x}  {}\n", i, print.lines[i], lines[i]);
    }
  }
  return {};
}

void add_common_options(CLI::App& command, Options& options) {
  command.add_option("FILE", options.files, "Schema files")->required();
  command
      .add_option(
          "--include", options.include_directories,
          "Where to look for included schemas that are not beside the including one; may be "
          "repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

}  // namespace

int run(std::vector<std::string> arguments, std::ostream& out, std::ostream& err) {
  Options options;
  CLI::App app("The schema compiler of Spotmesh: turns FlatBuffers schemas into packets.",
               "spotmesh-packetc");
  app.require_subcommand(1);
  app.footer(
      "Example: spotmesh-packetc cpp --out generated schema/tictactoe.fbs\n"
      "Exit code: 0 done, 1 a schema is refused or a file cannot be read or written, 2 wrong "
      "usage.");
  auto* cpp = app.add_subcommand(
      "cpp", "Write NAME.packets.hpp, NAME.packets.cpp and NAME.views.hpp for each NAME.fbs");
  cpp->footer(
      "Example: spotmesh-packetc cpp --out generated --include shared schema/tictactoe.fbs");
  add_common_options(*cpp, options);
  cpp->add_option("--out", options.output_directory, "Where the files go")
      ->type_name("DIR")
      ->required();
  auto* list = app.add_subcommand("list", "Print id and name of every packet");
  list->footer("Example: spotmesh-packetc list schema/tictactoe.fbs");
  add_common_options(*list, options);
  auto* lines = app.add_subcommand(
      "lines", "Print the fingerprint that clients send in Hello: every type, line by line");
  lines->footer("Example: spotmesh-packetc lines schema/tictactoe.fbs");
  add_common_options(*lines, options);

  std::ranges::reverse(arguments);
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? 0 : exit_usage;
  }
  const auto done = cpp->parsed()    ? generate_cpp(options)
                    : list->parsed() ? list_packets(options, out)
                                     : list_lines(options, out);
  if (done) return 0;
  err << done.error().text() << '\n';
  return exit_failure;
}

}  // namespace spotmesh::packetc
