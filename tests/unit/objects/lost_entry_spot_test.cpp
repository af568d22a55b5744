// A node that has stepped down from its Entry Spot, since the record of that is damaged.
#include <catch2/catch.hpp>
#include <string>

#include "checks.hpp"
#include "location/keys.hpp"
#include "many_nodes.hpp"
#include "objects/inspection.hpp"
#include "objects/spot_cell.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

struct WithoutHall : ManyNodes {
  WithoutHall() : ManyNodes(2) {
    const auto entry_spot = (*this)[0].core().entry_spot(mesh(0));
    sim.store.plant(location::keys::spot(entry_spot->id()), to_bytes("nonsense"));
    sim.store.fail_over(0s);
    wait_for([this] { return (*this)[0].metrics().stepped_down_objects.value() == 1; });
    // Until the new epoch is quiet.
    sim.run_for(30s);
    acquaint();
  }
  bool offers_actors(TestNode& seen_by) {
    const auto* node = seen_by.core().directory->find((*this)[0].self());
    return node != nullptr && !node->meshes.at(0).actor_types.empty();
  }
};

}  // namespace

TEST_CASE("what is to begin at a node without an Entry Spot begins at another", "[STORE-08]") {
  WithoutHall game;
  for (int i = 0; i < 20; ++i) game[0].born("asked-here-" + std::to_string(i), "pawn");
  for (int i = 0; i < 20; ++i) game[1].born("asked-there-" + std::to_string(i), "pawn");
  CHECK(game.actors(0).total() == 0);
  CHECK(game.actors(1).active == 40);
  // Rooms need none.
  CHECK(game[0].room("red", "room").spot_id.text() == "red");
}

TEST_CASE("a node without an Entry Spot says that it takes no Actors", "[STORE-08]") {
  WithoutHall game;
  CHECK_FALSE(game.offers_actors(game[1]));
  CHECK(Inspection(game[0].core()).mesh_without_entry_spot() == "play");
  CHECK_FALSE(Inspection(game[1].core()).mesh_without_entry_spot().has_value());
  game[1].stop();
  check_error(game[0].create("anna", "pawn"), ErrorKind::Unavailable, "anna");
}
