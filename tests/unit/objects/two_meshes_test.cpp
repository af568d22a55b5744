// An id is one Actor, whichever mesh it is asked for in.
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "checks.hpp"
#include "objects/registry.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// The same types in both meshes, on two nodes, each of which serves one.
struct TwoMeshes {
  TwoMeshes() {
    serve(app_of_red, "red", "blue");
    serve(app_of_blue, "blue", "red");
    red.emplace(sim, app_of_red, "red", ObjectsConfig{}, mesh::MeshOptions{}, Made::WherePlaced);
    blue.emplace(sim, app_of_blue, "blue", ObjectsConfig{}, mesh::MeshOptions{}, Made::WherePlaced);
    REQUIRE(red->start().has_value());
    REQUIRE(blue->start().has_value());
    sim.run_for(12s);
  }
  void serve(Application& app, const std::string& own, const std::string& other) {
    app.packets(probe::packets());
    auto& mesh = app.mesh(own).object_server();
    mesh.entry_spot<Hall>([this](auto& f) {
      f.create_with(
          [this](SpotContext& context) { return std::make_unique<Hall>(context, hooks); });
    });
    mesh.actor<Pawn>("pawn", [this](auto& f) {
      f.disable_relocation().create_with(
          [this](ActorContext& context) { return std::make_unique<Pawn>(context, hooks); });
    });
    app.mesh(other).object_client();
  }
  Result<CreateResult> create(TestNode& from, const std::string& mesh, bool accepts_existing) {
    return from.call<Result<CreateResult>>([=](Context& context) {
      auto call = accepts_existing ? context.actors().get_or_create("anna", "pawn")
                                   : context.actors().create("anna", "pawn");
      return call.in_mesh(mesh).submit();
    });
  }

  Hooks hooks;
  Application app_of_red;
  Application app_of_blue;
  TestWorld sim;
  std::optional<TestNode> red;
  std::optional<TestNode> blue;
};

}  // namespace

TEST_CASE("the mesh is no part of who an Actor is", "[ID-03][CREATE-02][CREATE-03]") {
  TwoMeshes game;
  for (TestNode* from : {&*game.red, &*game.blue}) {
    const auto first = game.create(*from, "red", false);
    INFO((first ? std::string("?") : to_string(first.error())));
    REQUIRE(first.has_value());
    const ActorRef anna = std::get<Created>(*first).actor;
    CHECK(anna.node_rid.text == game.red->core().identity.rid.text);
    check_error(game.create(*from, "blue", false), ErrorKind::AlreadyExists);
    const auto existing = game.create(*from, "blue", true);
    REQUIRE(existing.has_value());
    CHECK(std::get<Existing>(*existing).actor == anna);
    CHECK_FALSE(game.blue->core().registry->find_actor("anna"));
    REQUIRE(from->destroy(anna).value());
  }
}
