// Situations of sessions that are bound to Actors of other nodes, each as a simulated test.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fixture.hpp"

using namespace std::chrono_literals;
using namespace probe;
using simulation::Play;
using simulation::Result;
using simulation::SimStreamClient;

namespace {

// How long a beat stands still before its node's run is over for the others, and the time to look.
constexpr auto take_over = 25s;

}  // namespace

TEST_CASE(
    "what a client says is handled in order by an Actor of another node, however slow the way",
    "[BIND-06][BIND-01]") {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    Play play(seed, {0, 100});
    play.cluster.set_path_delay(0, 1, 1ms, 200ms);
    play.cluster.set_path_delay(1, 0, 1ms, 200ms);
    auto client = play.connect(0);
    REQUIRE(play.log_in(client, "ann").has_value());
    // The Actor complains about every note that is not the next one.
    for (std::uint32_t number = 1; number <= 300; ++number) {
      client.send(Note{.connection = play.connection(), .number = number});
    }
    const auto answer = play.ask<Answer>(client, Ask{.connection = play.connection()});
    INFO("seed " << seed << "\n" << play.cluster.trace());
    REQUIRE(answer.has_value());
    CHECK(answer->notes == 300);
    // What it has pushed before it answers is there before the answer.
    CHECK(client.pushes_received() >= answer->pushes);
    play.check_sound();
  }
}

TEST_CASE("connections between the nodes that are cut lose and double nothing of a client",
          "[BIND-06][BIND-09]") {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    Play play(seed, {0, 100});
    auto client = play.connect(0);
    REQUIRE(play.log_in(client, "ann").has_value());
    unsigned answered = 0;
    for (std::uint32_t number = 1; number <= 40; ++number) {
      client.send(Note{.connection = play.connection(), .number = number});
      client.request<Answer>(Ask{.connection = play.connection()},
                             [&, number](const Result<Answer>& answer) {
                               ++answered;
                               CHECK((answer.has_value() && answer->notes == number));
                             });
      play.cluster.run_for(20ms);
      if (number % 5 == 0) play.cluster.cut_connections(0, 1);
    }
    INFO("seed " << seed << "\n" << play.cluster.trace());
    REQUIRE(play.cluster.run_until([&] { return answered == 40; }));
    play.check_sound();
  }
}

TEST_CASE("whoever logs in at another node takes the Actor over, and the former session is closed",
          "[BIND-02][BIND-04]") {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    Play play(seed, {0, 0, 100});
    auto first = play.connect(0);
    REQUIRE(play.log_in(first, "ann").has_value());
    auto second = play.connect(1);
    REQUIRE(play.log_in(second, "ann").has_value());
    INFO("seed " << seed << "\n" << play.cluster.trace());
    REQUIRE(play.cluster.run_until([&] { return first.close_seen().has_value(); }));
    CHECK(first.close_seen()->code == 4003);
    CHECK(play.ask<Answer>(second, Ask{.connection = play.connection()}).has_value());
    // And where the Actor lives.
    auto third = play.connect(2);
    REQUIRE(play.log_in(third, "ann").has_value());
    REQUIRE(play.cluster.run_until([&] { return second.close_seen().has_value(); }));
    CHECK(second.close_seen()->code == 4003);
    CHECK(play.ask<Answer>(third, Ask{.connection = play.connection()}).has_value());
    play.check_sound();
  }
}

TEST_CASE("when a gateway dies its client finds the same Actor through another",
          "[BIND-03][BIND-12]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Play play(seed, {0, 0, 100});
    auto client = play.connect(0);
    REQUIRE(play.log_in(client, "ann").has_value());
    REQUIRE(play.ask<Answer>(client, Ask{.connection = play.connection()}).has_value());
    play.cluster.crash(0);
    auto again = play.connect(1);
    const auto logged_in = play.log_in(again, "ann");
    INFO("seed " << seed << "\n" << play.cluster.trace());
    REQUIRE(logged_in.has_value());
    CHECK_FALSE(logged_in->is_new);
    CHECK(play.ask<Answer>(again, Ask{.connection = play.connection()}).has_value());
    play.cluster.run_for(take_over);
    // The end of the dead run does not touch the present binding.
    CHECK(play.ask<Answer>(again, Ask{.connection = play.connection()}).has_value());
    CHECK(again.is_open());
    play.check_sound();
  }
}

TEST_CASE("when the node of its Actor dies a client is told, and may log in anew") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Play play(seed, {0, 0, 100});
    auto client = play.connect(0);
    REQUIRE(play.log_in(client, "ann").has_value());
    play.cluster.crash(2);
    INFO("seed " << seed << "\n" << play.cluster.trace());
    CHECK_FALSE(play.ask<Answer>(client, Ask{.connection = play.connection()}).has_value());
    play.cluster.run_for(take_over);
    const auto asked = play.ask<Answer>(client, Ask{.connection = play.connection()});
    REQUIRE_FALSE(asked.has_value());
    CHECK(asked.error().kind() == spotmesh::ErrorKind::NotFound);
    play.check_sound();
  }
}

TEST_CASE("what comes to an Actor from clients, from its own node and from others is one queue",
          "[TURN-01][BIND-06][MSG-03]") {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    Play play(seed, {0, 100, 0});
    play.cluster.set_path_delay(0, 1, 1ms, 50ms);
    play.cluster.set_path_delay(2, 1, 1ms, 50ms);
    auto client = play.connect(0);
    REQUIRE(play.log_in(client, "ann").has_value());
    INFO("seed " << seed << "\n" << play.cluster.trace());
    // One who speaks on each node, the Actor's own among them.
    std::vector<Life> speakers;
    unsigned finished = 0;
    for (const unsigned node : {0U, 1U, 2U}) {
      const Life speaker{"speaker " + std::to_string(node), 1};
      play.ledger.born(speaker);
      speakers.push_back(speaker);
      auto caller = play.cluster.caller(node);
      REQUIRE(caller.has_value());
      caller->run([&, speaker](spotmesh::Context& context) -> spotmesh::Task<void> {
        for (int i = 0; i < 10; ++i) {
          co_await say_words(context, play.ledger, speaker, "ann", 5);
          const auto answered = co_await context.actors()
                                    .request<Reply>("ann", Question{.left_us = 4'000'000})
                                    .timeout(4s)
                                    .submit();
          CHECK(answered.has_value());
        }
        ++finished;
      });
    }
    for (std::uint32_t number = 1; number <= 200; ++number) {
      client.send(Note{.connection = play.connection(), .number = number});
      if (number % 20 == 0) play.cluster.run_for(5ms);
    }
    const auto answer = play.ask<Answer>(client, Ask{.connection = play.connection()});
    REQUIRE(answer.has_value());
    CHECK(answer->notes == 200);
    REQUIRE(play.cluster.run_until([&] { return finished == 3; }));
    // The Actor and the ledger complain about whatever is doubled, lost or out of its order.
    std::optional<Life> ann;
    play.cluster.caller(0)->run([&](spotmesh::Context& context) -> spotmesh::Task<void> {
      const auto found = co_await context.actors().find("ann");
      if (found && *found) ann = Life{"ann", (*found)->object_generation.value};
    });
    REQUIRE(play.cluster.run_until([&] { return ann.has_value(); }));
    for (const Life& speaker : speakers) CHECK(play.ledger.words_received(speaker, *ann) == 50);
    play.check_sound();
  }
}
