// Situations between nodes, each as a simulated test.
#include <catch2/catch.hpp>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include <spotmesh/testing/chance.hpp>

#include "apart_fixture.hpp"

using namespace std::chrono_literals;
using namespace probe;
using simulation::Apart;
using spotmesh::ErrorKind;

namespace {

// A room of the cluster, made by node 0.
spotmesh::SpotRef make_room(Apart& play, const std::string& name) {
  const auto made =
      play.call<Apart::Result<spotmesh::SpotCreateResult>>(0, [=](spotmesh::Context& context) {
        return context.spots().get_or_create(name, room_type).submit();
      });
  INFO((made ? std::string() : to_string(made.error())) << "\n" << play.cluster.trace());
  REQUIRE(made.has_value());
  return ref_of(*made);
}

std::uint32_t headcount(Apart& play, const spotmesh::SpotRef& room) {
  const auto counted = play.call<Apart::Result<Counted>>(0, [=](spotmesh::Context& context) {
    return context.spots().request<Counted>(room.spot_id.text(), Headcount{}).submit();
  });
  INFO((counted ? std::string() : to_string(counted.error())) << "\n" << play.cluster.trace());
  REQUIRE(counted.has_value());
  return counted->members;
}

// How long a beat stands still before another node may take over, and the time to look.
constexpr auto take_over = 25s;

}  // namespace

TEST_CASE("a creation that a stalled node carries out too late leaves no twin", "[CREATE-15]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    // Node 1 is as good as always the one; node 2 takes over.
    Apart play(seed, {0, 10'000, 1});
    spotmesh::testing::Chance chance(seed, "case");
    const auto first =
        play.begin<Apart::Result<spotmesh::CreateResult>>(0, [](spotmesh::Context& context) {
          return context.actors().create("ann", runner_type).timeout(2s).submit();
        });
    // At any moment of the creation, from before its request has come to after its end.
    play.cluster.run_for(chance.between(0ms, 12ms));
    const bool is_made = first->has_value();
    play.cluster.pause(1);
    play.cluster.run_for(3s);
    REQUIRE(first->has_value());
    if (!is_made && !(*first)->has_value()) {
      const ErrorKind kind = (*first)->error().kind();
      // Whether the request had come, and its Admitted had left, before the node stood still.
      CHECK((kind == ErrorKind::DeadlineExceeded || kind == ErrorKind::Unavailable));
    }
    play.cluster.run_for(take_over);
    const auto second = play.make(0, "ann");
    play.cluster.resume(1);
    play.cluster.run_for(15s);
    CHECK(play.cluster.has_failed(1));
    for (const unsigned node : {0U, 2U}) CHECK(play.find(node, "ann") == second);
    CHECK(play.ask(0, "ann").has_value());
    play.check_sound();
  }
}

TEST_CASE("who remembers where an Actor was is wrong once at most, and looks anew", "[MSG-09]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Apart play(seed, {100, 100, 0});
    auto former = play.make(0, "ann");
    REQUIRE(play.ask(2, "ann").has_value());
    // Until it comes to live on the other node.
    auto present = former;
    while (present.node_rid == former.node_rid) {
      play.destroy(0, present);
      present = play.make(1, "ann");
    }
    const auto stale = play.ask(2, "ann");
    if (!stale) CHECK(stale.error().kind() == ErrorKind::Unavailable);
    const auto again = play.ask(2, "ann");
    INFO((again ? std::string() : to_string(again.error())) << "\n" << play.cluster.trace());
    CHECK(again.has_value());
    play.check_sound();
  }
}

TEST_CASE("a node that was started anew is not taken for its former run at the same address",
          "[MSG-09][LOSS-05]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Apart play(seed, {0, 100, 0});
    const auto former = play.make(0, "ann");
    REQUIRE(play.ask(2, "ann").has_value());
    REQUIRE(play.cluster.stop(1));
    play.cluster.restart(1);
    REQUIRE(play.cluster.run_until([&] { return play.cluster.is_serving(1); }));
    play.cluster.run_for(5s);
    const auto present = play.make(0, "ann");
    CHECK(present.node_rid != former.node_rid);
    const auto stale = play.ask(2, "ann");
    if (!stale) CHECK(stale.error().kind() == ErrorKind::Unavailable);
    const auto again = play.ask(2, "ann");
    INFO((again ? std::string() : to_string(again.error())) << "\n" << play.cluster.trace());
    CHECK(again.has_value());
    CHECK(play.find(2, "ann") == present);
    play.check_sound();
  }
}

TEST_CASE("what was on its way to a killed node ends, and never reaches its next run",
          "[LOSS-01][MSG-10]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Apart play(seed, {0, 100, 0});
    play.make(0, "ann");
    play.cluster.block_path(2, 1);
    const auto asked = play.begin<Apart::Result<Reply>>(2, [](spotmesh::Context& context) {
      return context.actors().request<Reply>("ann", Question{.left_us = 5'000'000}).submit();
    });
    play.cluster.run_for(100ms);
    play.cluster.restart(1);
    play.cluster.unblock_path(2, 1);
    REQUIRE(play.cluster.run_until([&] { return asked->has_value(); }, 6s));
    REQUIRE_FALSE((*asked)->has_value());
    play.cluster.run_for(take_over);
    play.make(0, "ann");
    // The question of before is not among what it was asked.
    CHECK(play.ask(2, "ann").has_value());
    play.check_sound();
  }
}

TEST_CASE("a room that has been closed hears no more of what it had subscribed to", "[PUB-01]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Apart play(seed, {0, 100, 0});
    const Life teller{"teller", 1};
    play.ledger.born(teller);
    const auto publish = [&] {
      return play.begin<bool>(2, [&](spotmesh::Context& context) -> spotmesh::Task<bool> {
        co_await publish_bulletins(context, play.ledger, teller, std::string(gossip), 5);
        co_return true;
      });
    };
    const auto room = make_room(play, "room");
    const Life life{room.spot_id.text(), room.object_generation.value};
    INFO(play.cluster.trace());
    // Nodes learn of a subscriber by and by.
    REQUIRE(play.cluster.run_until([&] {
      publish();
      play.cluster.run_for(100ms);
      return play.ledger.bulletins().heard_by(life) > 0;
    }));
    // Some are on their way while it closes.
    publish();
    const bool is_closed = *play.call<Apart::Result<bool>>(
        0, [&](spotmesh::Context& context) { return context.spots().close(room); });
    REQUIRE(is_closed);
    play.ledger.gone(life);
    const std::size_t heard = play.ledger.bulletins().heard_by(life);
    const auto after = publish();
    REQUIRE(play.cluster.run_until([&] { return after->has_value(); }));
    play.cluster.run_for(30s);
    CHECK(play.ledger.bulletins().heard_by(life) == heard);
    play.check_sound();
    CHECK(play.cluster.violations_at_rest().empty());
  }
}

TEST_CASE("the seat of an Actor that has been destroyed is free", "[DESTROY-01][DESTROY-04]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Apart play(seed, {0, 100, 0});
    const auto room = make_room(play, "room");
    const auto ann = play.make(0, "ann");
    const auto have = [&](const auto& packet) {
      const auto done = play.call<Apart::Result<Registered>>(2, [=](spotmesh::Context& context) {
        return context.actors().request<Registered>("ann", packet).submit();
      });
      REQUIRE(done.has_value());
    };
    have(Enter{.room = "room"});
    REQUIRE(play.cluster.run_until([&] { return headcount(play, room) == 1; }));
    // Who sits in a room gets up first.
    const auto seated = play.call<Apart::Result<bool>>(
        2, [&](spotmesh::Context& context) { return context.actors().destroy(ann); });
    REQUIRE_FALSE(seated.has_value());
    CHECK(seated.error().kind() == ErrorKind::InvalidOperation);
    CHECK(headcount(play, room) == 1);
    have(Leave{});
    REQUIRE(play.cluster.run_until([&] { return headcount(play, room) == 0; }));
    play.destroy(2, ann);
    // Its next incarnation sits in no room, and finds the seat free.
    play.make(0, "ann");
    CHECK(headcount(play, room) == 0);
    have(Enter{.room = "room"});
    REQUIRE(play.cluster.run_until([&] { return headcount(play, room) == 1; }));
    play.check_sound();
    CHECK(play.cluster.violations_at_rest().empty());
  }
}

TEST_CASE("what a node has said before it stops reaches who is slow to hear it") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Apart play(seed, {100, 0, 0});
    const auto ann = play.make(1, "ann");
    const Life life{ann.actor_id.text(), ann.object_generation.value};
    REQUIRE(play.ask(1, "ann").has_value());  // the route is known from here on
    const Life teller{"teller", 1};
    play.ledger.born(teller);
    play.cluster.block_path(1, 0);
    const auto said = play.begin<bool>(1, [&](spotmesh::Context& context) -> spotmesh::Task<bool> {
      co_await say_words(context, play.ledger, teller, "ann", 5);
      co_return true;
    });
    REQUIRE(play.cluster.run_until([&] { return said->has_value(); }));
    // Longer than the others take to look whether its lease is still there.
    play.cluster.after(700ms, [&] { play.cluster.unblock_path(1, 0); });
    REQUIRE(play.cluster.stop(1));
    play.cluster.run_for(1s);
    CHECK(play.ledger.words_received(teller, life) == 5);
    play.check_sound();
  }
}

TEST_CASE("a node that joins takes its share of what is new, and nothing of what lives") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    INFO("seed " << seed);
    Apart play(seed, {100, 100, 100});
    REQUIRE(play.cluster.stop(2));
    const auto name = [](char kind, int number) { return kind + std::to_string(number); };
    std::vector<spotmesh::ActorRef> before;
    for (int i = 0; i < 10; ++i) before.push_back(play.make(0, name('a', i)));
    const auto room = make_room(play, "room");
    play.cluster.restart(2);
    REQUIRE(play.cluster.run_until([&] { return play.cluster.is_serving(2); }));
    play.cluster.run_for(30s);
    for (int i = 0; i < 10; ++i) {
      CHECK(play.find(2, name('a', i)) == before[static_cast<std::size_t>(i)]);
      CHECK(play.ask(2, name('a', i)).has_value());
    }
    CHECK(make_room(play, "room") == room);
    std::set<std::string> nodes;
    for (const auto& ref : before) nodes.insert(ref.node_rid.text);
    REQUIRE(nodes.size() == 2);
    for (int i = 0; i < 30; ++i) nodes.insert(play.make(0, name('b', i)).node_rid.text);
    CHECK(nodes.size() == 3);
    play.check_sound();
  }
}

TEST_CASE("what points at a dead run never sticks, also when that run's own record is gone",
          "[LOSS-02]") {
  Apart play(1, {0, 100, 1});
  const auto former = play.make(0, "ann");
  play.cluster.crash(1);
  // By then its lease has been fenced, and the fence swept away.
  play.cluster.run_for(3h);
  CHECK_FALSE(play.find(0, "ann").has_value());
  const auto again = play.make(0, "ann");
  CHECK(again.node_rid != former.node_rid);
  CHECK(play.ask(2, "ann").has_value());
  play.check_sound();
}
