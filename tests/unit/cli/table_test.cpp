#include "cli/table.hpp"

#include <catch2/catch.hpp>
#include <sstream>

using namespace spotmesh::cli;

TEST_CASE("columns of a table are aligned, whatever the width of its letters") {
  Table table({"ID", "STATE"});
  table.add({"한글", "Ready"});
  table.add({"ann", "Gone"});
  std::ostringstream out;
  table.print(out);
  CHECK(out.str() == "ID    STATE\n한글  Ready\nann   Gone\n");
}

TEST_CASE("a long list is printed in parts below one header, and a column only grows") {
  Table table({"ID", "N"});
  std::ostringstream out;
  table.add({"a", "1"});
  table.print(out);
  table.add({"long-name", ""});
  table.add({"b", "2"});
  table.print(out);
  CHECK(out.str() == "ID  N\na   1\nlong-name\nb          2\n");
}

TEST_CASE("an empty list is its header alone") {
  Table table({"ID", "N"});
  std::ostringstream out;
  table.print(out);
  CHECK(out.str() == "ID  N\n");
}
