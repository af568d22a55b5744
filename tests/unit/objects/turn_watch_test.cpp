// Turns that do not end are told of, and hold up nobody else.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "checks.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

struct StuckNode {
  StuckNode() {
    one.hooks.poke = [this](ActorContext& context, SpotContext&,
                            const probe::Poke&) -> Task<Result<probe::Poked>> {
      if (context.actor_id().text() == "anna") co_await latch.wait();
      co_return probe::Poked{};
    };
    one->born("anna", "pawn");
    one->born("berta", "pawn");
  }
  void poke_anna() {
    one->begin<bool>([](Context& context) -> Task<bool> {
      (void)context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
      co_return true;
    });
  }
  std::size_t events() {
    const std::string trace = one.sim.world.trace().text();
    std::size_t count = 0;
    for (auto at = trace.find("turn.stuck"); at != std::string::npos;
         at = trace.find("turn.stuck", at + 1)) {
      ++count;
    }
    return count;
  }

  Latch latch;
  OneNode one;
};

}  // namespace

TEST_CASE("a turn that does not end is told of, and other gates go on", "[TURN-07]") {
  StuckNode node;
  node.poke_anna();
  node.one.run_for(9s);
  CHECK(node.one->metrics().stuck_turns.value() == 0);
  node.one.run_for(4s);
  CHECK(node.one->metrics().stuck_turns.value() == 1);
  CHECK(node.events() == 1);
  const std::string trace = node.one.sim.world.trace().text();
  CHECK(trace.find("anna", trace.find("turn.stuck")) != std::string::npos);
  CHECK(node.one->request<probe::Poked>("berta", probe::Poke{}).has_value());

  SECTION("again when its age has doubled, as one stuck turn") {
    node.one.run_for(17s);
    CHECK(node.events() == 2);
    CHECK(node.one->metrics().stuck_turns.value() == 1);
  }
  SECTION("and no more once it has ended") {
    node.latch.open();
    node.one.run_for(60s);
    CHECK(node.events() == 1);
    CHECK(node.one->metrics().stuck_turns.value() == 1);
  }
  node.latch.open();
}
