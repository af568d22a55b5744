#include "host/admin_settings.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace spotmesh;
using namespace spotmesh::host;
using Catch::Matchers::Contains;

namespace {

const Settings::Environment with_token{{"SPOTMESH_ADMIN_TOKEN", "a-token-of-this-server"}};

AdminSettings read(const std::vector<std::string>& flags, const Settings::Environment& given = {}) {
  Settings settings(flags, given);
  return read_admin_settings(settings);
}

std::string refusal(const std::string& listen, const Settings::Environment& given = {}) {
  try {
    read({"--admin.listen=" + listen}, given);
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "nothing was refused";
}

}  // namespace

TEST_CASE("operators are let in at loopback, unless the settings say otherwise") {
  const AdminSettings admin = read({});
  CHECK(admin.address == "127.0.0.1");
  CHECK(admin.port == 9464);
  CHECK(admin.token.empty());
  CHECK(read({"--admin.listen="}).address.empty());
  CHECK(read({"--admin.listen=localhost:0"}).address == "127.0.0.1");
  CHECK(read({"--admin.listen=[::1]:65535"}).address == "::1");
  CHECK(read({"--admin.listen=[::1]:65535"}).port == 65535);
}

TEST_CASE("an address that others can reach needs a token") {
  for (const std::string listen : {"0.0.0.0:9464", "[::]:9464", "192.0.2.1:1", "128.0.0.1:1"}) {
    CAPTURE(listen);
    CHECK_THAT(refusal(listen), Contains("--admin.listen") && Contains("admin.token_file") &&
                                    Contains("SPOTMESH_ADMIN_TOKEN"));
    const AdminSettings admin = read({"--admin.listen=" + listen}, with_token);
    CHECK(admin.token == "a-token-of-this-server");
  }
}

TEST_CASE("what is no address is refused, saying what is one") {
  for (const std::string listen :
       {"9464", "127.0.0.1", "127.0.0.1:", ":9464", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:1x", "game.example:1", "::1:9464", "[127.0.0.1]:1", "[]:1", "[::1:1", "127.1:1",
        "[localhost]:1", " 127.0.0.1:1"}) {
    CAPTURE(listen);
    CHECK_THAT(refusal(listen, with_token),
               Contains("--admin.listen") && Contains("in brackets") && Contains("any free one"));
  }
}
