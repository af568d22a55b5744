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

TEST_CASE("a turn of a Spot that waits without its gate is told of all the same", "[TURN-07]") {
  OneNode one;
  one->room("red", "room");
  Latch latch;
  std::string ends;
  one.hooks.poke_spot = [&](SpotContext& spot,
                            const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value == 0) co_return probe::Poked{};
    (void)co_await spot.spots().request<probe::Poked>("red", probe::Poke{}).yield();
    // Taken up again, and still to be told of.
    if (poke.value == 1) co_await latch.wait();
    if (poke.value == 2) {
      (void)co_await spot.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(1h).yield();
    }
    ends += std::to_string(poke.value);
    co_return probe::Poked{};
  };
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  one->born("anna", "pawn");
  const int way = GENERATE(1, 2);
  one->begin<bool>([way](Context& context) -> Task<bool> {
    (void)context.spots()
        .request<probe::Poked>("red", probe::Poke{.value = way})
        .timeout(2h)
        .submit();
    co_return true;
  });
  one.run_for(13s);
  const std::string trace = one.sim.world.trace().text();
  INFO(trace);
  CHECK(trace.find("owner=Spot 'red' what=probe.Poke") != std::string::npos);
  CHECK(one->metrics().stuck_turns.value() == way);
  CHECK(ends.empty());
  latch.open();
  one.run_for(1s);
  CHECK(ends == std::to_string(way));
  one.run_for(60s);
  CHECK(one->metrics().stuck_turns.value() == way);
}
