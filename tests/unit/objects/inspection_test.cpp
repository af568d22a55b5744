// What is seen of a node's objects from outside.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "checks.hpp"
#include "objects/inspection.hpp"
#include "objects/page_walk.hpp"
#include "one_node.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

template <typename Answer>
Answer wait_for(OneNode& one, const std::function<void(std::function<void(Answer)>)>& ask) {
  std::optional<Answer> answer;
  ask([&](Answer given) { answer = std::move(given); });
  REQUIRE_FALSE(answer.has_value());  // never inside the call
  one.run_for(100ms);
  REQUIRE(answer.has_value());
  return *std::move(answer);
}

Page<ActorRow> actors(OneNode& one, const PageWanted& wanted) {
  return wait_for<Page<ActorRow>>(
      one, [&](auto done) { Inspection(one->core()).actors(wanted, std::move(done)); });
}

Page<SpotRow> spots(OneNode& one, const PageWanted& wanted) {
  return wait_for<Page<SpotRow>>(
      one, [&](auto done) { Inspection(one->core()).spots(wanted, std::move(done)); });
}

ActorRow actor(OneNode& one, const std::string& id) {
  PageWanted wanted;
  wanted.id = id;
  const auto page = actors(one, wanted);
  REQUIRE(page.rows.size() == 1);
  CHECK_FALSE(page.next.has_value());
  return page.rows.front();
}

std::vector<CensusRow> census(OneNode& one) {
  return wait_for<std::vector<CensusRow>>(
      one, [&](auto done) { Inspection(one->core()).census(std::move(done)); });
}

// How often each id is on a page of the walk; `between` runs after each page.
std::map<std::string, int> walk(OneNode& one, PageWanted wanted,
                                const std::function<void()>& between = {}) {
  std::map<std::string, int> seen;
  for (int pages = 0; pages < 1000; ++pages) {
    const auto page = actors(one, wanted);
    CHECK(page.rows.size() <= wanted.limit);
    for (const ActorRow& row : page.rows) ++seen[row.ref.actor_id.text()];
    if (!page.next) return seen;
    wanted.from = *page.next;
    if (between) between();
  }
  FAIL("the walk has no end");
  return seen;
}

BindingIdentity binding(std::uint64_t session) {
  return {SessionId{1, session}, LifecycleId{5, 5}, NodeRid{"gate"}, session};
}

}  // namespace

TEST_CASE("a walk over pages shows every Actor once, whatever the size of a page") {
  OneNode one;
  for (int i = 0; i < 150; ++i) one->born("pawn " + std::to_string(i), "pawn");
  for (const std::size_t limit : {1, 7, 100, 150, 1000}) {
    PageWanted wanted;
    wanted.limit = limit;
    const auto seen = walk(one, wanted);
    CHECK(seen.size() == 150);
    CHECK(std::ranges::all_of(seen, [](const auto& each) { return each.second == 1; }));
  }
}

TEST_CASE("who stays is on one page, whoever comes and goes during the walk") {
  OneNode one;
  std::vector<ActorRef> leaving;
  for (int i = 0; i < 40; ++i) {
    one->born("stays " + std::to_string(i), "pawn");
    leaving.push_back(one->born("leaves " + std::to_string(i), "pawn"));
  }
  int coming = 0;
  PageWanted wanted;
  wanted.limit = 5;
  const auto seen = walk(one, wanted, [&] {
    one->born("comes " + std::to_string(coming++), "pawn");
    if (leaving.empty()) return;
    CHECK(one->destroy(leaving.back()) == true);
    leaving.pop_back();
  });
  for (int i = 0; i < 40; ++i) CHECK(seen.at("stays " + std::to_string(i)) == 1);
  CHECK(std::ranges::all_of(seen, [](const auto& each) { return each.second == 1; }));
}

TEST_CASE("a page has only what its filter lets through, and knows when nothing follows") {
  OneNode one;
  one->born("anna", "pawn");
  one->born("rosa", "rook");
  one->room("red", "room");
  PageWanted wanted;
  wanted.type = "rook";
  auto page = actors(one, wanted);
  REQUIRE(page.rows.size() == 1);
  CHECK(page.rows[0].ref.actor_id.text() == "rosa");
  CHECK(page.rows[0].type == "rook");
  CHECK_FALSE(page.next.has_value());
  wanted.mesh = "play";
  CHECK(actors(one, wanted).rows.size() == 1);
  wanted.mesh = "another";
  CHECK(actors(one, wanted).rows.empty());
  wanted.id = "rosa";
  CHECK(actors(one, wanted).rows.empty());

  wanted = {};
  CHECK(spots(one, wanted).rows.size() == 2);
  wanted.type = "room";
  const auto rooms = spots(one, wanted);
  REQUIRE(rooms.rows.size() == 1);
  CHECK(rooms.rows[0].ref.spot_id.text() == "red");
  CHECK_FALSE(rooms.rows[0].is_entry_spot);
  wanted.id = "no such Spot";
  CHECK(spots(one, wanted).rows.empty());
}

TEST_CASE("of one Actor each is read by itself: type, generations, membership, binding, backlogs",
          "[OBS-01]") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  ActorRow row = actor(one, "anna");
  CHECK(row.ref == anna);
  CHECK(row.ref.mesh_name == "play");
  CHECK(row.ref.object_generation == anna.object_generation);
  CHECK(row.type == "pawn");
  CHECK(row.state == CellState::Ready);
  CHECK(row.owner_generation.value == 1);
  CHECK(row.spot == one->spot_of("anna"));
  CHECK(row.spot_type == "entry spot");
  CHECK_FALSE(row.binding.has_value());
  CHECK(row.mailbox.backlog.application == 0);
  CHECK_FALSE(row.mailbox.running.has_value());
}

TEST_CASE("membership, binding, backlog and the turn in progress are read as they change",
          "[OBS-01]") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  one->room("red", "room");
  REQUIRE(one->send("anna", probe::Wish{.spot = "red"}).has_value());
  one.run_for(1s);
  one->bindings().bind(anna, binding(3), [](const Result<void>&) {});
  one.run_for(100ms);
  Latch latch;
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  one->begin<bool>([](Context& context) -> Task<bool> {
    (void)context.actors().request<probe::Poked>("anna", probe::Poke{}).timeout(60s).submit();
    for (int i = 0; i < 3; ++i) {
      (void)co_await context.actors().send("anna", probe::Note{.text = "later"}).submit();
    }
    co_return true;
  });
  one.run_for(2s);
  const ActorRow row = actor(one, "anna");
  CHECK(row.ref.object_generation == anna.object_generation);
  CHECK(row.spot->spot_id.text() == "red");
  CHECK(row.spot_type == "room");
  CHECK(row.binding == binding(3));
  CHECK(row.mailbox.backlog.application == 3);
  CHECK(row.mailbox.backlog.control == 0);
  REQUIRE(row.mailbox.running.has_value());
  CHECK(row.mailbox.running->what == "probe.Poke");
  CHECK(row.mailbox.running->age >= 1s);
  one->bindings().session_ended(anna.actor_id, binding(3));
  one.run_for(100ms);
  CHECK_FALSE(actor(one, "anna").binding.has_value());

  const auto rows = census(one);
  const auto pawns = std::ranges::find(rows, "pawn", &CensusRow::type);
  REQUIRE(pawns != rows.end());
  CHECK(pawns->mesh == "play");
  CHECK_FALSE(pawns->is_spot);
  CHECK(pawns->objects == 1);
  CHECK(pawns->bound == 0);
  CHECK(pawns->running == 1);
  CHECK(pawns->application_jobs == 3);
  CHECK(pawns->longest_application == 3);
  CHECK(pawns->oldest_turn >= 2s);
  CHECK(std::ranges::find(rows, "room", &CensusRow::type)->objects == 1);
  latch.open();
  one.run_for(1s);
  CHECK(actor(one, "anna").mailbox.backlog.application == 0);
}

TEST_CASE("what became of a message is counted by itself, whichever way it went wrong",
          "[OBS-01][OBS-04]") {
  OneNode one;
  const ActorRef anna = one->born("anna", "pawn");
  Latch latch;
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke& poke) -> Task<Result<probe::Poked>> {
    if (poke.value == 1) co_return fail(Error::rejected("not now"));
    if (poke.value == 2) throw std::runtime_error("ouch");
    if (poke.value == 3) co_await latch.wait();
    co_return probe::Poked{};
  };
  const auto& counts = one->metrics();
  const auto all = [&] {
    return std::vector<std::int64_t>{counts.handled.value(),         counts.no_handler.value(),
                                     counts.decode_failures.value(), counts.handler_errors.value(),
                                     counts.handler_throws.value(),  counts.late_replies.value(),
                                     counts.stale_refused.value()};
  };
  CHECK(all() == std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 0});
  CHECK(one->request<probe::Poked>("anna", probe::Poke{}).has_value());
  CHECK(all() == std::vector<std::int64_t>{1, 0, 0, 0, 0, 0, 0});
  CHECK_FALSE(one->request<probe::Answer>("anna", probe::Blob{}).has_value());
  CHECK(all() == std::vector<std::int64_t>{1, 1, 0, 0, 0, 0, 0});
  const Message damaged(PacketTraits<probe::Ask>::descriptor(), SharedBytes(Bytes(3)));
  CHECK_FALSE(one->call<Result<probe::Answer>>([&](Context& context) {
                   return context.actors().request<probe::Answer>("anna", damaged).submit();
                 })
                  .has_value());
  CHECK(all() == std::vector<std::int64_t>{1, 1, 1, 0, 0, 0, 0});
  CHECK_FALSE(one->request<probe::Poked>("anna", probe::Poke{.value = 1}).has_value());
  CHECK(all() == std::vector<std::int64_t>{1, 1, 1, 1, 0, 0, 0});
  CHECK_FALSE(one->request<probe::Poked>("anna", probe::Poke{.value = 2}).has_value());
  CHECK(all() == std::vector<std::int64_t>{1, 1, 1, 1, 1, 0, 0});
  CHECK_FALSE(one->request<probe::Poked>("anna", probe::Poke{.value = 3}, 1s).has_value());
  latch.open();
  one.run_for(10ms);
  CHECK(all() == std::vector<std::int64_t>{2, 1, 1, 1, 1, 1, 0});
  one->bindings().session_ended(anna.actor_id, binding(9));
  one.run_for(10ms);
  CHECK(all() == std::vector<std::int64_t>{2, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("requests in flight are counted by what they were sent to, and return to zero") {
  OneNode one;
  one->born("anna", "pawn");
  one->room("red", "room");
  Latch latch;
  one.hooks.poke = [&](ActorContext&, SpotContext&,
                       const probe::Poke&) -> Task<Result<probe::Poked>> {
    co_await latch.wait();
    co_return probe::Poked{};
  };
  one.hooks.poke_spot = [](SpotContext& context, const probe::Poke&) -> Task<Result<probe::Poked>> {
    // Its own request waits, and so does the one that it answers.
    (void)co_await context.actors().request<probe::Poked>("anna", probe::Poke{}).submit();
    co_return probe::Poked{};
  };
  const RequestsInFlight& waiting = one->metrics().requests_in_flight;
  const auto asked = one->begin<Result<probe::Poked>>([](Context& context) {
    return context.spots().request<probe::Poked>("red", probe::Poke{}).submit();
  });
  one.run_for(10ms);
  CHECK(waiting.spot.value() == 1);
  CHECK(waiting.actor.value() == 1);
  latch.open();
  one.run_for(10ms);
  CHECK(asked->has_value());
  CHECK(waiting.spot.value() == 0);
  CHECK(waiting.actor.value() == 0);
}

TEST_CASE("a node tells of itself first, and of the others that it knows") {
  OneNode one;
  TestNode two(one.sim, one.app, "two");
  REQUIRE(two.start().has_value());
  one.run_for(30s);
  const auto nodes = wait_for<std::vector<NodeRow>>(
      one, [&](auto done) { Inspection(one->core()).nodes(std::move(done)); });
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].is_self);
  CHECK(nodes[0].descriptor.stamp.rid == one->node().identity().rid);
  CHECK(nodes[0].descriptor.meshes.at(0).actor_types.size() == 2);
  CHECK_FALSE(nodes[1].is_self);
  CHECK(nodes[1].is_reachable);
  CHECK(nodes[1].descriptor.stamp.rid == two.node().identity().rid);
  CHECK(nodes[1].descriptor.state == location::HostState::Serving);
}
