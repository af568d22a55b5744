#include "host/mesh_settings.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace spotmesh;
using namespace spotmesh::host;

namespace {

const Settings::Environment with_secret = {{"SPOTMESH_MESH_SECRET", "0123456789abcdef"}};

MeshSettings read(const std::vector<std::string>& flags,
                  const Settings::Environment& environment = with_secret) {
  Settings settings(flags, environment);
  MeshSettings mesh = read_mesh_settings(settings);
  settings.check();
  return mesh;
}

}  // namespace

TEST_CASE("a node stands alone unless it is told where it takes connections") {
  const MeshSettings mesh = read({}, {});
  CHECK(mesh.listen.empty());
  CHECK(mesh.cluster == "spotmesh");
}

TEST_CASE("a node takes connections where it is told, and says another address when it has one") {
  const MeshSettings bound = read({"--mesh.listen=[::1]:7946", "--mesh.cluster=game"});
  CHECK(bound.listen == "[::1]:7946");
  CHECK(bound.advertise.empty());
  CHECK(bound.cluster == "game");
  CHECK(bound.secret == "0123456789abcdef");
  const MeshSettings apart = read({"--mesh.listen=0.0.0.0:7946", "--mesh.advertise=play-1:7946"});
  CHECK(apart.advertise == "play-1:7946");
}

TEST_CASE("an address under which nobody could reach the node ends its start") {
  CHECK_THROWS_WITH(read({"--mesh.listen=7946"}),
                    Catch::Contains("mesh.listen") && Catch::Contains("HOST:PORT"));
  for (const char* every : {"0.0.0.0:7946", "[::]:7946", "[::0]:7946"}) {
    CHECK_THROWS_WITH(read({std::string("--mesh.listen=") + every}),
                      Catch::Contains("say in mesh.advertise"));
    CHECK_THROWS_WITH(read({"--mesh.listen=127.0.0.1:0", std::string("--mesh.advertise=") + every}),
                      Catch::Contains("leads nowhere"));
  }
  CHECK_THROWS_WITH(read({"--mesh.listen=127.0.0.1:0", "--mesh.advertise=play-1:0"}),
                    Catch::Contains("leads nowhere"));
}

TEST_CASE("nobody is let in without a secret") {
  CHECK_THROWS_WITH(read({"--mesh.listen=127.0.0.1:0"}, {}),
                    Catch::Contains("mesh.secret_file") && Catch::Contains("SPOTMESH_MESH_SECRET"));
  CHECK_THROWS_WITH(read({"--mesh.listen=127.0.0.1:0", "--mesh.secret=0123456789abcdef"}, {}),
                    Catch::Contains("mesh.secret"));
}
