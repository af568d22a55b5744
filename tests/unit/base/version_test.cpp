#include <spotmesh/version.hpp>

#include <catch2/catch.hpp>
#include <string>

TEST_CASE("the linked library tells the version of the headers") {
  const std::string expected = std::to_string(spotmesh::version_major) + "." +
                               std::to_string(spotmesh::version_minor) + "." +
                               std::to_string(spotmesh::version_patch);
  CHECK(spotmesh::linked_version() == expected);
}
