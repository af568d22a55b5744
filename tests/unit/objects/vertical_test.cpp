#include <catch2/catch.hpp>

#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

TEST_CASE("a created Actor is found, answers, joins a room and comes back",
          "[CREATE-01][FIND-01][FIND-02][CB-01][CB-02][CB-03][JOIN-01][JOIN-06][REG-08]") {
  OneNode one;
  const ActorRef ref = one->born("anna", "pawn");
  CHECK(one.journal().take() ==
        std::vector<std::string>{"configure hall", "configure anna", "on_create_actor anna"});
  CHECK(one->find("anna") == ref);
  CHECK(ref.node_rid == one->node().identity().rid);
  CHECK(ref.mesh_name == "play");
  const auto entry = one->spot_of("anna");
  REQUIRE(entry.has_value());

  const auto answer = one->request<probe::Answer>("anna", probe::Ask{.value = 41});
  REQUIRE(answer.has_value());
  CHECK(answer->value == 42);

  one->room("red", "room");
  CHECK(one.journal().take() == std::vector<std::string>{"configure room", "on_create red"});
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  // Waits behind the Join.
  const auto poked = one->request<probe::Poked>("anna", probe::Poke{.value = 5});
  REQUIRE(poked.has_value());
  CHECK(poked->text == "red");
  CHECK(one.journal().take() ==
        std::vector<std::string>{"deferred anna", "on_actor_join red anna",
                                 "on_joined_actor red anna", "on_leave_actor hall anna",
                                 "completed anna accepted with a reply", "red pokes anna"});
  CHECK(one->spot_of("anna")->spot_id.text() == "red");
  CHECK(one->find("anna") == ref);

  REQUIRE(one->send("anna", probe::Wish{}).has_value());
  REQUIRE(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  CHECK(one.journal().take() ==
        std::vector<std::string>{"deferred anna", "on_actor_join hall anna",
                                 "on_joined_actor hall anna", "on_leave_actor red anna",
                                 "completed anna accepted", "hall pokes anna"});
  CHECK(one->spot_of("anna") == entry);
  const auto again = one->request<probe::Answer>("anna", probe::Ask{.value = 1});
  REQUIRE(again.has_value());
  CHECK(again->text == "anna asked 2");
}
