// Situations of order and turns, each as a simulated test.
#include <catch2/catch.hpp>

#include <chrono>
#include <optional>

#include "fixture.hpp"

using namespace std::chrono_literals;
using namespace probe;
using simulation::Play;
using simulation::Result;
using simulation::SimStreamClient;
using spotmesh::ErrorKind;

TEST_CASE("what one player says is handled in the order he said it, from socket to handler",
          "[TURN-01]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Play play({.seed = seed, .longest_link_latency = 300ms});
    auto client = play.connect();
    REQUIRE(play.log_in(client, "ann").has_value());
    // The Actor complains about every note that is not the next one.
    for (std::uint32_t number = 1; number <= 100; ++number) {
      client.send(Note{.connection = play.connection(), .number = number});
    }
    const auto answer = play.ask<Answer>(client, Ask{.connection = play.connection()});
    INFO("seed " << seed);
    REQUIRE(answer.has_value());
    REQUIRE(answer->notes == 100);
    play.check_sound();
  }
}

TEST_CASE("messages that come in the same instant are all answered, in order", "[TURN-01]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Play play({.seed = seed});
    auto client = play.connect();
    REQUIRE(play.log_in(client, "ann").has_value());
    std::vector<std::uint32_t> answered;
    for (std::uint32_t i = 0; i < 20; ++i) {
      client.send(Note{.connection = play.connection(), .number = i + 1});
      // The first takes longest, so that whoever may overtake does.
      client.request<Answer>(Ask{.connection = play.connection(), .delay_us = (20 - i) * 1'000},
                             [&](const Result<Answer>& answer) {
                               if (answer) answered.push_back(answer->notes);
                             });
    }
    INFO("seed " << seed << "\n" << play.cluster.trace());
    REQUIRE(play.cluster.run_until([&] { return answered.size() == 20; }));
    for (std::uint32_t i = 0; i < 20; ++i) REQUIRE(answered[i] == i + 1);
    play.check_sound();
  }
}

TEST_CASE("a push goes to the session that is bound by then, an answer to the one that has asked",
          "[BIND-02]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Play play({.seed = seed});
    auto first = play.connect();
    REQUIRE(play.log_in(first, "ann").has_value());
    std::optional<Result<Answer>> answer;
    first.request<Answer>(Ask{.connection = 1, .delay_us = 60'000},
                          [&](Result<Answer> reply) { answer = std::move(reply); });
    play.cluster.run_for(20ms);
    // While the Actor makes its answer somebody else takes it over; it pushes when it has answered.
    auto second = play.connect();
    REQUIRE(play.log_in(second, "ann").has_value());
    INFO("seed " << seed << "\n" << play.cluster.trace());
    REQUIRE_FALSE(answer.has_value());
    REQUIRE(play.cluster.run_until(
        [&] { return second.pushes_received() == 1 && answer.has_value(); }));
    REQUIRE(answer->has_value());
    CHECK((*answer)->connection == 1);
    CHECK(first.pushes_received() == 0);
    play.check_sound();
  }
}

TEST_CASE("two Actors that wait for each other are freed by the deadline", "[MSG-03]") {
  Play play;
  auto ann = play.connect();
  auto bob = play.connect();
  REQUIRE(play.log_in(ann, "ann").has_value());
  REQUIRE(play.log_in(bob, "bob").has_value());
  unsigned ended = 0;
  unsigned answered = 0;
  std::string problems;
  const auto count = [&](const Result<Queried>& queried) {
    ++ended;
    if (queried) problems += queried->problem + "\n";
    if (queried && queried->was_answered) ++answered;
  };
  const auto begun = play.cluster.elapsed();
  // Both are busy until either has got both: each then asks before it can answer.
  ann.request<Answer>(Ask{.connection = 1, .delay_us = 40'000}, [](const Result<Answer>&) {});
  bob.request<Answer>(Ask{.connection = 2, .delay_us = 40'000}, [](const Result<Answer>&) {});
  ann.request<Queried>(Query{.to = "bob", .patience_us = 300'000, .delay_us = 50'000}, count);
  bob.request<Queried>(Query{.to = "ann", .patience_us = 300'000, .delay_us = 50'000}, count);
  INFO(play.cluster.trace());
  REQUIRE(play.cluster.run_until([&] { return ended == 2; }));
  CHECK(play.cluster.elapsed() - begun < 1s);
  CHECK(answered < 2);
  INFO(problems);
  CHECK(problems.find("DeadlineExceeded") != std::string::npos);
  CHECK((problems.find("Actor 'ann' and Actor 'bob' wait for each other") != std::string::npos ||
         problems.find("Actor 'bob' and Actor 'ann' wait for each other") != std::string::npos));
  // Both are free again.
  CHECK(play.ask<Answer>(ann, Ask{.connection = 1}).has_value());
  CHECK(play.ask<Answer>(bob, Ask{.connection = 2}).has_value());
  play.check_sound();
}

TEST_CASE(
    "a turn that does not end is named with its Actor, packet and age, and stops nobody else") {
  Play play;
  auto ann = play.connect();
  auto bob = play.connect();
  REQUIRE(play.log_in(ann, "ann").has_value());
  REQUIRE(play.log_in(bob, "bob").has_value());
  ann.request<Answer>(Ask{.connection = 1, .delay_us = 600'000'000}, [](const Result<Answer>&) {});
  play.cluster.run_for(50ms);
  const auto begun = play.cluster.elapsed();
  while (play.cluster.elapsed() - begun < 40s) {
    const auto asked = play.cluster.elapsed();
    REQUIRE(play.ask<Answer>(bob, Ask{.connection = 2}).has_value());
    CHECK(play.cluster.elapsed() - asked < 100ms);
    play.cluster.run_for(500ms);
  }
  const std::string trace = play.cluster.trace();
  INFO(trace);
  const auto at = trace.find("turn.stuck node-0.0 ann owner=Actor 'ann' what=probe.Ask age_ms=");
  CHECK(at != std::string::npos);
  CHECK(trace.find("turn.stuck node-0.0 bob") == std::string::npos);
  // An operator ends it: the id is free, and its next incarnation answers.
  CHECK(play.cluster.end_actor(0, "nobody").error().kind() == ErrorKind::NotFound);
  play.ledger.will_be_ended("ann");
  REQUIRE(play.cluster.end_actor(0, "ann").has_value());
  CHECK(play.log_in(bob, "bob").has_value());
  REQUIRE(play.log_in(ann, "ann")->is_new);
  CHECK(play.ask<Answer>(ann, Ask{.connection = play.connection()}).has_value());
  play.check_sound();
  CHECK(play.cluster.violations_at_rest().empty());
}

TEST_CASE("the timers of a destroyed Actor end with it", "[DESTROY-01]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Play play({.seed = seed});
    auto client = play.connect();
    REQUIRE(play.log_in(client, "ann").has_value());
    REQUIRE(play.ask<Ticking>(client, Tick{.period_us = 1'000}).has_value());
    play.cluster.run_for(20ms);
    REQUIRE(play.ask<HasQuit>(client, Quit{.name = "ann"})->was_living);
    play.cluster.run_for(1s);
    // An incarnation of its own: no tick of the former one may reach it.
    REQUIRE(play.log_in(client, "ann")->is_new);
    play.cluster.run_for(1s);
    play.check_sound();
    CHECK(play.cluster.violations_at_rest().empty());
  }
}

TEST_CASE("a timer neither drifts nor dies in a week, and is still once it is cancelled",
          "[TIMER-01]") {
  Play play;
  auto client = play.connect();
  REQUIRE(play.log_in(client, "ann").has_value());
  REQUIRE(play.ask<Ticking>(client, Tick{.period_us = 60'000'000}).has_value());
  const auto begun = play.cluster.elapsed();
  play.cluster.run_for(std::chrono::hours(24 * 7));
  const auto answer = play.ask<Answer>(client, Ask{.connection = play.connection()});
  REQUIRE(answer.has_value());
  CHECK(answer->ticks == (play.cluster.elapsed() - begun) / 60s);
  REQUIRE(play.ask<Ticking>(client, Tick{.period_us = 0}).has_value());
  play.cluster.run_for(std::chrono::hours(1));
  // The Actor would have complained about a tick.
  play.check_sound();
}
