#include "wire/schema_prints.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "wire/packet_catalog.hpp"
#include "zoo.packets.hpp"

using namespace spotmesh;
using namespace spotmesh::wire;

namespace {

PacketCatalog zoo_catalog() {
  PacketCatalog catalog;
  catalog.add(zoo::packets());
  return catalog;
}

std::vector<std::string> lines_of(const SchemaPrints& prints, std::string_view type) {
  const auto lines = prints.lines_of(type);
  return {lines.begin(), lines.end()};
}

// What a client sends that was built with these lines.
TypePrint print_of(std::string name, const std::vector<std::string>& lines) {
  TypePrint print{std::move(name), {}};
  for (const std::string& line : lines) print.lines.push_back(line.empty() ? 0 : line_hash(line));
  return print;
}

std::string misfit(const SchemaPrints& prints, const TypePrint& other) {
  const auto fits = prints.check({other});
  return fits ? "fits" : fits.error().message();
}

}  // namespace

TEST_CASE("the hash of a line is FNV-1a and never 0") {
  CHECK(line_hash("") == 0x811c9dc5);
  CHECK(line_hash("a") == 0xe40c292c);
  CHECK(line_hash("foobar") == 0xbf9cf968);
}

TEST_CASE("every kind of type has its lines") {
  const PacketCatalog catalog = zoo_catalog();
  const SchemaPrints& prints = catalog.prints();
  using Lines = std::vector<std::string>;
  CHECK(lines_of(prints, "zoo.Empty") == Lines{"table"});
  // A union takes two slots, of which the first says nothing.
  CHECK(lines_of(prints, "zoo.Tree") == Lines{"table", "name:string", "left:zoo.Tree",
                                              "right:zoo.Tree", "children:[zoo.Tree]", "",
                                              "animal:zoo.Animal"});
  CHECK(lines_of(prints, "zoo.Fish") == Lines{"table", "name:string required", "tank:zoo.Cage"});
  CHECK(lines_of(prints, "zoo.Cage") ==
        Lines{"struct 7", "id:ulong", "corners:[zoo.common.Point:4]", "lock:[ubyte:3]",
              "moods:[zoo.common.Mood:2]", "open:bool", "ratio:float", "offsets:[long:2]"});
  CHECK(lines_of(prints, "zoo.Animal") == Lines{"union", "", "Lion:zoo.Lion", "Fish:zoo.Fish",
                                                "point:zoo.common.Point", "note:string",
                                                "other_note:string"});
  CHECK(lines_of(prints, "zoo.Size") == Lines{"enum ulong", "", "Small"});
  CHECK(lines_of(prints, "zoo.Nothing").empty());

  const Lines everything = lines_of(prints, "zoo.Everything");
  const auto has = [&](std::string_view line) {
    return std::ranges::find(everything, line) != everything.end();
  };
  CHECK(has("flag:bool=1"));
  CHECK(has("small:byte=-7"));
  CHECK(has("ubig:ulong=18446744073709551615"));
  CHECK(has("real:float=3ff8000000000000"));
  CHECK(has("size:zoo.Size=18446744073709551615"));
  CHECK(has("maybe_flag:bool=null"));
  CHECK(has("blob:[ubyte]"));
  CHECK_FALSE(has("gone:int=0"));
}

TEST_CASE("all that packets lead to is in their prints, and fits itself") {
  const PacketCatalog catalog = zoo_catalog();
  const auto prints = catalog.prints().prints();
  std::set<std::string> names;
  for (const TypePrint& print : prints) names.insert(print.name);
  for (const auto* packet : zoo::packets()) CHECK(names.contains(std::string(packet->name)));
  for (const char* part : {"zoo.Detail", "zoo.Cage", "zoo.Animal", "zoo.Size", "zoo.common.Mood"}) {
    CHECK(names.contains(part));
  }
  CHECK(catalog.prints().check(prints).has_value());
}

TEST_CASE("what was added to a schema fits on either side") {
  const PacketCatalog catalog = zoo_catalog();
  const SchemaPrints& prints = catalog.prints();
  CHECK(misfit(prints, print_of("zoo.Fish", {"table", "name:string required"})) == "fits");
  CHECK(misfit(prints, print_of("zoo.Fish", {"table", "name:string required", "tank:zoo.Cage",
                                             "age:int=0"})) == "fits");
  // A field that one side has deprecated.
  CHECK(misfit(prints, print_of("zoo.Fish", {"table", "", "tank:zoo.Cage"})) == "fits");
  CHECK(misfit(prints, print_of("zoo.Size", {"enum ulong", "None", "Small", "Medium"})) == "fits");
  CHECK(misfit(prints, print_of("zoo.New", {"table", "x:int=0"})) == "fits");
  CHECK(misfit(prints, print_of("zoo.Fish", {})) == "fits");
}

TEST_CASE("what does not fit is named with its type and line") {
  const PacketCatalog catalog = zoo_catalog();
  const SchemaPrints& prints = catalog.prints();
  CHECK(misfit(prints, print_of("zoo.Fish", {"table", "name:int=0", "tank:zoo.Cage"})) ==
        "zoo.Fish does not fit: line 1 is 'name:string required' here");
  CHECK(misfit(prints, print_of("zoo.Fish", {"table", "name:string", "tank:zoo.Cage"})) ==
        "zoo.Fish does not fit: line 1 is 'name:string required' here");
  CHECK(misfit(prints, print_of("zoo.Lion", {"table", "den:zoo.Tree", "roar:int=0"})) ==
        "zoo.Lion does not fit: line 1 is 'roar:int=0' here");
  CHECK(misfit(prints, print_of("zoo.Lion", {"table", "roar:int=1"})) ==
        "zoo.Lion does not fit: line 1 is 'roar:int=0' here");
  CHECK(misfit(prints, print_of("zoo.Fish", {"struct 2"})) ==
        "zoo.Fish does not fit: line 0 is 'table' here");
  // A struct's place in memory is all that there is of it: nothing can be added.
  CHECK(misfit(prints, print_of("zoo.Cage", {"struct 8", "id:ulong"})) ==
        "zoo.Cage does not fit: line 0 is 'struct 7' here");
  CHECK(misfit(prints, print_of("zoo.Size", {"enum ulong", "", "Medium"})) ==
        "zoo.Size does not fit: line 2 is 'Small' here");
  CHECK(misfit(prints, print_of("zoo.Animal", {"union", "", "Fish:zoo.Fish"})) ==
        "zoo.Animal does not fit: line 2 is 'Lion:zoo.Lion' here");
}
