#include "packetc/command.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "packetc/packet_id.hpp"

namespace {

namespace fs = std::filesystem;

class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(fs::temp_directory_path() / ("packetc-test-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream stream(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

 private:
  fs::path path_;
};

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = spotmesh::packetc::run(arguments, out, err);
  return {code, out.str(), err.str()};
}

struct BadSchema {
  std::string text;
  std::string message;  // behind the file's name
};

}  // namespace

TEST_CASE("packet ids are the first bytes of SHA-256", "[packetc]") {
  using spotmesh::packetc::packet_id;
  CHECK(packet_id("abc") == 0xba7816bfU);  // FIPS 180-2, appendix B.1
  CHECK(packet_id("") == 0xe3b0c442U);
  CHECK(packet_id("tictactoe.PlaceMark") == 0x14116d3eU);
}

TEST_CASE("wrong usage exits with 2 and help with 0", "[packetc]") {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"frobnicate"},
                                             {"cpp"},
                                             {"cpp", "a.fbs"},
                                             {"list"},
                                             {"list", "--out", "x", "a.fbs"}}) {
    const auto outcome = run(arguments);
    CHECK(outcome.code == 2);
    CHECK_FALSE(outcome.err.empty());
    CHECK(outcome.out.empty());
  }
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"--help"}, {"cpp", "--help"}, {"list", "--help"}}) {
    const auto outcome = run(arguments);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("Example: spotmesh-packetc"));
  }
}

TEST_CASE("list prints id and name of every packet", "[packetc]") {
  const auto outcome = run({"list", std::string(ZOO_SCHEMA_DIRECTORY) + "/common.fbs"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "0x733ff55b  zoo.common.Label\n");
}

TEST_CASE("a bad schema is refused at its place", "[packetc]") {
  const TemporaryDirectory directory;
  const std::vector<BadSchema> schemas = {
      {"table A {\n  x: int\n}\n", ":3:2: expecting: ; instead got: }"},
      {"table A {\n  x: Missing;\n}\n",
       ":2:1: type referenced but not defined (check namespace): Missing"},
      {"table A { x: string = \"text\"; }\n",
       ":1:30: strings and vectors cannot have a default; leave it out, the default is empty"},
      {"namespace n;\ntable A (direction: \"up\") { x: int; }\n",
       ":2:7: attribute 'direction' of A is \"up\"; it must be one of \"client_to_server\", "
       "\"server_to_client\", \"both\", \"internal\""},
      {"table A (delivery: \"maybe\") { x: int; }\n",
       ":1:7: attribute 'delivery' of A is \"maybe\"; it must be one of \"reliable\", \"latest\""},
      {"table A (max_bytes: \"0\") { x: int; }\n",
       ":1:7: attribute 'max_bytes' of A is 0; it must be a whole number from 1 to 4294967295"},
      {"table A (reply: \"B\") { x: int; }\n",
       ":1:7: attribute 'reply' of A is \"B\", which is no packet of this schema"},
      {"table B (not_a_packet) { x: int; }\ntable A (reply: \"B\") { x: int; }\n",
       ":2:7: attribute 'reply' of A is \"B\", which is no packet of this schema"},
      {"table A (not_a_packet: 3) { x: int; }\n",
       ":1:7: attribute 'not_a_packet' of A takes no value"},
      {"struct A (direction: \"both\") { x: int; }\n",
       ":1:8: attribute 'direction' is for tables; A is a struct"},
      {"// table A\ntable A {\n  x: int;\n  y: int (max_bytes: 3);\n}\n",
       ":4:3: attribute 'max_bytes' belongs to a table, not to a field"},
      {"table A { a: A (required); }\n",
       ":1:7: A requires itself, directly or by way of other tables, so no value of it could end; "
       "make one of the members optional"},
      {"table A { b: B (required); }\ntable B { a: A (required); }\n",
       ":1:7: A requires itself, directly or by way of other tables, so no value of it could end; "
       "make one of the members optional"},
      {"table AView { x: int; }\ntable A { x: int; }\n",
       ":2:7: A needs the C++ name ::AView, which AView takes; rename one of them"},
      {"table A { x: int; }\nunion U { A }\nenum UType : byte { None }\n",
       ":3:6: UType needs the C++ name ::UType, which U takes; rename one of them"},
      {"table A {\n  class: int;\n  class_: int;\n}\n",
       ":3:3: field 'class_' gets the C++ name of another field"},
      // Found by search: both names begin with the same four bytes of SHA-256.
      {"table P24241 { x: int; }\ntable P138551 { x: int; }\n",
       ":1:7: packets P138551 and P24241 would both have the id 0x15191f5e; rename one of them"},
      {"include \"nowhere.fbs\";\n", ":1:23: unable to load include file: nowhere.fbs"},
      {std::string("table A {\0}", 11), ": the file contains a zero byte; a schema is text"},
  };
  for (const auto& schema : schemas) {
    directory.write("bad.fbs", schema.text);
    const auto outcome = run({"cpp", "--out", directory.file("out"), directory.file("bad.fbs")});
    CHECK(outcome.code == 1);
    CHECK(outcome.err == directory.file("bad.fbs") + schema.message + "\n");
    CHECK_FALSE(fs::exists(directory.file("out")));
  }
}

TEST_CASE("a file that cannot be read or written exits with 1", "[packetc]") {
  const TemporaryDirectory directory;
  const auto missing = run({"list", directory.file("missing.fbs")});
  CHECK(missing.code == 1);
  CHECK_THAT(missing.err, Catch::Contains("missing.fbs: cannot read this schema file"));
  directory.write("a.fbs", "table A { x: int; }");
  directory.write("file", "");
  const auto blocked = run({"cpp", "--out", directory.file("file/out"), directory.file("a.fbs")});
  CHECK(blocked.code == 1);
  CHECK_THAT(blocked.err, Catch::Contains("cannot make this directory"));
}

TEST_CASE("includes are found beside the schema and where --include says", "[packetc]") {
  const TemporaryDirectory directory;
  directory.write("shared/common.fbs", "namespace c;\ntable C { x: int; }\n");
  directory.write("game/part.fbs", "namespace g;\ntable Part { x: int; }\n");
  directory.write("game/game.fbs",
                  "include \"common.fbs\";\ninclude \"part.fbs\";\nnamespace g;\n"
                  "table Game { c: c.C; part: Part; }\n");
  CHECK(run({"list", directory.file("game/game.fbs")}).code == 1);
  const auto outcome =
      run({"cpp", "--out", directory.file("out"), "--include", directory.file("shared"),
           directory.file("game/game.fbs"), directory.file("game/part.fbs")});
  CHECK(outcome.err.empty());
  REQUIRE(outcome.code == 0);
  const auto header = directory.read("out/game.packets.hpp");
  CHECK_THAT(header, Catch::Contains("#include \"common.packets.hpp\""));
  CHECK_THAT(header, Catch::Contains("#include \"part.packets.hpp\""));
  CHECK_THAT(header, Catch::Contains("PacketSet packets();"));
  // The schema that is included leaves packets() to the one above it.
  CHECK_THAT(directory.read("out/part.packets.hpp"), !Catch::Contains("packets();"));
  CHECK(fs::exists(directory.file("out/game.views.hpp")));
}

TEST_CASE("schemas of one namespace need one that includes the others", "[packetc]") {
  const TemporaryDirectory directory;
  directory.write("a.fbs", "namespace n;\ntable A { x: int; }\n");
  directory.write("b.fbs", "namespace n;\ntable B { x: int; }\n");
  directory.write("all.fbs", "include \"a.fbs\";\ninclude \"b.fbs\";\nnamespace n;\n");
  const auto apart = run(
      {"cpp", "--out", directory.file("out"), directory.file("a.fbs"), directory.file("b.fbs")});
  CHECK(apart.code == 1);
  CHECK_THAT(apart.err, Catch::Contains("it shares the namespace 'n' with"));
  const auto together = run({"cpp", "--out", directory.file("out"), directory.file("a.fbs"),
                             directory.file("b.fbs"), directory.file("all.fbs")});
  CHECK(together.err.empty());
  CHECK(together.code == 0);
  CHECK_THAT(directory.read("out/all.packets.cpp"), Catch::Contains("PacketTraits<::n::B>"));
}

TEST_CASE("schemas that include each other are refused", "[packetc]") {
  const TemporaryDirectory directory;
  directory.write("a.fbs", "include \"b.fbs\";\nnamespace n;\ntable A { x: int; }\n");
  directory.write("b.fbs", "include \"a.fbs\";\nnamespace n;\ntable B { x: int; }\n");
  const auto outcome = run({"list", directory.file("a.fbs")});
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.err, Catch::Contains("includes this file, which includes it"));
}

TEST_CASE("the output depends on nothing but the schema", "[packetc]") {
  const TemporaryDirectory directory;
  const std::string schemas = ZOO_SCHEMA_DIRECTORY;
  for (const auto* name : {"zoo.fbs", "common.fbs"}) {
    directory.write(std::string("elsewhere/") + name, "");
    fs::copy_file(fs::path(schemas) / name, directory.file(std::string("elsewhere/") + name),
                  fs::copy_options::overwrite_existing);
  }
  CHECK(run({"cpp", "--out", directory.file("one"), schemas + "/zoo.fbs"}).code == 0);
  CHECK(run({"cpp", "--out", directory.file("two"), directory.file("elsewhere/zoo.fbs")}).code ==
        0);
  for (const auto* suffix : {"packets.hpp", "packets.cpp", "views.hpp"}) {
    const auto text = directory.read(std::string("one/zoo.") + suffix);
    CHECK_FALSE(text.empty());
    CHECK(text == directory.read(std::string("two/zoo.") + suffix));
  }
}

TEST_CASE("a file that would be the same is left alone", "[packetc]") {
  const TemporaryDirectory directory;
  directory.write("a.fbs", "table A { x: int; }");
  const auto compile = [&] {
    return run({"cpp", "--out", directory.file("out"), directory.file("a.fbs")}).code;
  };
  REQUIRE(compile() == 0);
  const auto header = directory.file("out/a.packets.hpp");
  const auto long_ago = fs::last_write_time(header) - std::chrono::hours(1);
  fs::last_write_time(header, long_ago);
  REQUIRE(compile() == 0);
  CHECK(fs::last_write_time(header) == long_ago);
  directory.write("a.fbs", "table A { x: int; y: int; }");
  REQUIRE(compile() == 0);
  CHECK(fs::last_write_time(header) > long_ago);
}

TEST_CASE("a comment that ends with a backslash hides nothing of the generated code", "[packetc]") {
  const TemporaryDirectory directory;
  directory.write("c.fbs", "namespace c;\n/// One \\\ntable T {\n  /// Two \\ \n  x: int;\n}\n");
  REQUIRE(run({"cpp", "--out", directory.file("out"), directory.file("c.fbs")}).code == 0);
  std::istringstream header(directory.read("out/c.packets.hpp"));
  std::size_t comments = 0;
  for (std::string line; std::getline(header, line);) {
    if (line.find("// One") != std::string::npos || line.find("// Two") != std::string::npos) {
      ++comments;
      CHECK(line.back() == '.');
    }
  }
  CHECK(comments == 2);
}

TEST_CASE("a message about a very long name is still a message", "[packetc]") {
  const TemporaryDirectory directory;
  directory.write("long.fbs", "table T {\n  x: " + std::string(300'000, 'a') + ";\n}\n");
  const auto outcome = run({"cpp", "--out", directory.file("out"), directory.file("long.fbs")});
  CHECK(outcome.code == 1);
  CHECK(outcome.err.starts_with(directory.file("long.fbs") + ":2:"));
}

TEST_CASE("the lines of a schema are printed as clients send them in Hello") {
  const TemporaryDirectory directory;
  directory.write("game.fbs",
                  "namespace game;\nenum Mark : byte { None, X }\nstruct Point { x: int; }\n"
                  "table Place { cell: int = -1; mark: Mark; old: int (deprecated); at: Point; "
                  "who: string (required); }\n");
  const auto [code, out, err] = run({"lines", directory.file("game.fbs")});
  CHECK(code == 0);
  CHECK(err.empty());
  CHECK(out ==
        "game.Mark\n"
        "    0  0x9cacddba  enum byte\n"
        "    1  0x304ff7fb  None\n"
        "    2  0xdd0c1e27  X\n"
        "game.Place\n"
        "    0  0x4a9c9bdf  table\n"
        "    1  0x28e9da2f  cell:int=-1\n"
        "    2  0xa03bc2b2  mark:game.Mark=0\n"
        "    4  0xf7fece08  at:game.Point\n"
        "    5  0xdd9ca3c7  who:string required\n"
        "game.Point\n"
        "    0  0xad6c3b23  struct 1\n"
        "    1  0x5d3f1b68  x:int\n");
  CHECK(run({"lines", directory.file("none.fbs")}).code == 1);
}
