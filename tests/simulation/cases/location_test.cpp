// Situations of creation and location, each as a simulated test.
#include <catch2/catch.hpp>

#include <chrono>

#include "fixture.hpp"

using namespace std::chrono_literals;
using namespace probe;
using simulation::Play;
using simulation::SimStreamClient;
using spotmesh::ErrorKind;

namespace {

// How long a beat stands still before another node may take over, and the time to look.
constexpr auto take_over = 25s;

}  // namespace

TEST_CASE("a node that the store does not hear of for less than a lease loses nothing",
          "[STORE-07]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Play play({.seed = seed, .nodes = 2});
    auto client = play.connect(0);
    REQUIRE(play.log_in(client, "ann").has_value());
    REQUIRE(play.ask<Registered>(client, Enter{.room = "room"}).has_value());
    play.cluster.run_for(1s);
    play.cluster.set_store_available(0, false);
    play.cluster.run_for(8s);
    // Somebody asks for it meanwhile, elsewhere: no second one is made.
    auto stranger = play.connect(1);
    const auto refused = play.log_in(stranger, "ann");
    CHECK((!refused.has_value() || !refused->is_new));
    play.cluster.set_store_available(0, true);
    play.cluster.run_for(20s);
    CHECK(play.cluster.is_serving(0));
    CHECK(play.cluster.stored_objects().size() == 4);  // two Entry Spots, the room and the Actor
    CHECK(play.cluster.trace().find("stepped_down") == std::string::npos);
    play.check_sound();
  }
}

TEST_CASE("an Actor of a killed node is Unavailable at once, and comes back after the lease",
          "[LOSS-01]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Play play({.seed = seed, .nodes = 2});
    {
      auto client = play.connect(0);
      REQUIRE(play.log_in(client, "ann").has_value());
    }
    play.cluster.crash(0);
    auto client = play.connect(1);
    const auto at_once = play.log_in(client, "ann");
    REQUIRE_FALSE(at_once.has_value());
    CHECK(at_once.error().kind() == ErrorKind::Unavailable);
    play.cluster.run_for(take_over);
    CHECK(play.log_in(client, "ann")->is_new);
    play.check_sound();
  }
}

TEST_CASE("a room of a killed node is Unavailable at once, and can be made anew after the lease",
          "[LOSS-02][LOSS-05]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Play play({.seed = seed, .nodes = 2});
    {
      auto host = play.connect(0);
      REQUIRE(play.log_in(host, "ann").has_value());
      REQUIRE(play.ask<Registered>(host, Enter{.room = "room1"}).has_value());
      play.cluster.run_for(1s);
    }
    play.cluster.crash(0);
    auto client = play.connect(1);
    REQUIRE(play.log_in(client, "bob").has_value());
    // It may still be taken for alive; then it is the Join that fails.
    const auto at_once = play.ask<Registered>(client, Enter{.room = "room1"});
    play.cluster.run_for(1s);
    if (at_once) {
      CHECK(play.cluster.trace().find("actor.join_failed node-1.0 bob reason=Unavailable") !=
            std::string::npos);
    } else {
      CHECK(at_once.error().kind() == ErrorKind::Unavailable);
    }
    play.cluster.run_for(take_over);
    REQUIRE(play.ask<Registered>(client, Enter{.room = "room1"}).has_value());
    play.cluster.run_for(1s);
    INFO(play.cluster.trace());
    CHECK(play.cluster.trace().find("actor.joined node-1.0 bob spot=room1") != std::string::npos);
    // The member of the lost room starts again as well.
    CHECK(play.log_in(client, "ann")->is_new);
    play.check_sound();
  }
}

TEST_CASE("a node that is told to stop while the store is away exits all the same", "[STORE-09]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Play play({.seed = seed});
    auto client = play.connect();
    REQUIRE(play.log_in(client, "ann").has_value());
    play.cluster.set_store_available(false);
    play.cluster.run_for(3s + seed * 2s);
    // What its turns are to do in the end they cannot, nor can its records go.
    (void)play.cluster.stop(0, 5s);
    play.cluster.run_for(10s);
    CHECK_FALSE(play.cluster.is_running(0));
  }
}

TEST_CASE("a process that stands still for less than its lease goes on as if nothing had been",
          "[STORE-05]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Play play({.seed = seed, .nodes = 2});
    auto client = play.connect(0);
    REQUIRE(play.log_in(client, "ann").has_value());
    client.send(Note{.connection = play.connection(), .number = 1});
    play.cluster.pause(0);
    client.send(Note{.connection = play.connection(), .number = 2});
    play.cluster.run_for(4s);
    play.cluster.resume(0);
    const auto answer = play.ask<Answer>(client, Ask{.connection = play.connection()});
    REQUIRE(answer.has_value());
    CHECK(answer->notes == 2);
    play.check_sound();
  }
}

TEST_CASE("a process that stands still past its lease neither runs a turn nor pushes when it wakes",
          "[STORE-10]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Play play({.seed = seed, .nodes = 2});
    auto client = play.connect(0);
    REQUIRE(play.log_in(client, "ann").has_value());
    client.send(Note{.connection = play.connection(), .number = 1});
    play.cluster.run_for(1s);
    const auto pushes = client.pushes_received();
    auto stranger = play.connect(1);
    (void)play.log_in(stranger, "ann");  // from now on node 1 watches node 0
    play.cluster.pause(0);
    play.cluster.run_for(40s);
    REQUIRE(play.log_in(stranger, "ann")->is_new);
    client.send(Note{.connection = 1, .number = 2});
    play.cluster.resume(0);
    play.cluster.run_for(10s);
    CHECK(client.pushes_received() == pushes);
    CHECK(play.cluster.has_failed(0));
    // The checkers have seen no turn and no write of the former owner.
    play.check_sound();
  }
}

TEST_CASE("a node that joins makes no object move and none a second time") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Play play({.seed = seed, .nodes = 3});
    play.cluster.stop(2);
    auto client = play.connect(0);
    for (const char* name : {"ann", "bob", "cid"}) REQUIRE(play.log_in(client, name)->is_new);
    const auto before = play.cluster.stored_objects();
    play.cluster.restart(2);
    REQUIRE(play.cluster.run_until([&] { return play.cluster.is_serving(2); }));
    play.cluster.run_for(30s);
    // One more: the new node's Entry Spot.
    CHECK(play.cluster.stored_objects().size() == before.size() + 1);
    for (const char* name : {"ann", "bob", "cid"}) CHECK_FALSE(play.log_in(client, name)->is_new);
    play.check_sound();
  }
}

TEST_CASE("a damaged record makes its own id DataLost, and the rest goes on") {
  Play play({.nodes = 2});
  auto client = play.connect(0);
  play.cluster.damage_record("ann");
  const auto refused = play.log_in(client, "ann");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().kind() == ErrorKind::DataLost);
  CHECK(refused.error().message().find("ann") != std::string::npos);
  CHECK(play.log_in(client, "bob").has_value());
}

TEST_CASE("with the store away for a minute, serving ends with the lease and comes back by itself",
          "[STORE-09]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Play play({.seed = seed});
    auto client = play.connect();
    REQUIRE(play.log_in(client, "ann").has_value());
    play.cluster.set_store_available(false);
    play.cluster.run_for(3s);
    CHECK(play.ask<Answer>(client, Ask{.connection = play.connection()}).has_value());
    play.cluster.run_for(57s);
    CHECK_FALSE(play.ask<Answer>(client, Ask{.connection = play.connection()}).has_value());
    play.cluster.set_store_available(true);
    play.cluster.run_for(20s);
    CHECK(play.ask<Answer>(client, Ask{.connection = play.connection()}).has_value());
    play.check_sound();
    CHECK(play.cluster.stop(0));
    CHECK(play.cluster.stored_objects().empty());
  }
}

TEST_CASE("a store that has forgotten everything gives no generation out a second time",
          "[STORE-08]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    INFO("seed " << seed);
    Play play({.seed = seed});
    auto client = play.connect();
    REQUIRE(play.log_in(client, "ann").has_value());
    play.cluster.crash(0);
    play.cluster.fail_over_store(play.cluster.elapsed());
    play.cluster.restart(0);
    REQUIRE(play.cluster.run_until([&] { return play.cluster.is_serving(0); }));
    auto again = play.connect();
    REQUIRE(play.log_in(again, "ann").has_value());
    // The checkers compare what both runs were given.
    play.check_sound();
  }
}

TEST_CASE("looking for an id that nobody has created creates nothing", "[FIND-01]") {
  Play play;
  auto client = play.connect();
  const auto before = play.cluster.stored_objects();
  const auto looked = play.ask<HasQuit>(client, Quit{.name = "nobody"});
  REQUIRE(looked.has_value());
  CHECK_FALSE(looked->was_living);
  CHECK(play.cluster.stored_objects() == before);
}

TEST_CASE("a node whose address does not lead to it never serves, and says which address it is") {
  const std::string address = GENERATE(as<std::string>(), "nowhere:7", "node-0.0:1");
  std::string told;
  try {
    Play play({.seed = 3, .nodes = 2, .each = {{}, {.advertised_address = address}}});
  } catch (const std::runtime_error& error) {
    told = error.what();
  }
  INFO(told);
  CHECK(told.find("its address '" + address + "' does not lead to it") != std::string::npos);
  const auto first = told.find("state=Serving");
  REQUIRE(first != std::string::npos);
  CHECK(told.find("state=Serving", first + 1) == std::string::npos);
  CHECK(told.find("state=Error") != std::string::npos);
}
