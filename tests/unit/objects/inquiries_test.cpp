// What operators ask of other nodes.
#include "objects/inquiries.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spotmesh/limits.hpp>

#include "checks.hpp"
#include "objects/node_directory.hpp"
#include "two_nodes.hpp"

using namespace spotmesh;
using namespace spotmesh::objects;

namespace {

// Until the first node knows where the second one is.
void meet(TwoNodes& game) {
  const auto is_known = [&] {
    return game.one->core().directory->find(game.two->self()) != nullptr;
  };
  REQUIRE(game.sim.world.run_until(is_known, 60s) == testing::SimOutcome::Done);
}

using Outcome = std::shared_ptr<std::optional<Result<InquiryAnswer>>>;

// Two nodes, of which the first asks the second.
struct AskingNodes {
  AskingNodes() {
    meet(game);
    game.two->core().inquiries->answer_with(
        [this](const Inquiry& inquiry, Instant deadline, Inquiries::Done done) {
          asked.push_back(inquiry);
          deadlines.push_back(deadline);
          if (answer) return done(*answer);
          unanswered.push_back(std::move(done));
        });
  }

  Outcome ask(const std::string& target, Duration time = 5s) {
    auto outcome = std::make_shared<std::optional<Result<InquiryAnswer>>>();
    Core& core = game.one->core();
    core.strand.post([&core, outcome, target, deadline = core.now() + time, to = game.two->self()] {
      core.inquiries->ask(to, {target, "an operator"}, deadline,
                          [outcome](Result<InquiryAnswer> answer) {
                            CHECK_FALSE(outcome->has_value());
                            *outcome = std::move(answer);
                          });
    });
    return outcome;
  }

  TwoNodes game;
  std::optional<Result<InquiryAnswer>> answer;  // empty: none comes by itself
  std::vector<Inquiry> asked;
  std::vector<Instant> deadlines;
  std::vector<Inquiries::Done> unanswered;
};

}  // namespace

TEST_CASE("what an operator asks of another node comes back as that node said it") {
  AskingNodes nodes;
  const std::string odd = "{\"id\":\"a/b \\n \xF0\x9F\x98\x80\"}";
  nodes.answer = InquiryAnswer{{odd, "{}"}, "3-6162"};
  const auto outcome = nodes.ask("/v1/actors?limit=2");
  nodes.game.run_for(100ms);
  REQUIRE(outcome->has_value());
  REQUIRE((*outcome)->has_value());
  CHECK((**outcome)->rows == std::vector<std::string>{odd, "{}"});
  CHECK((**outcome)->next == "3-6162");
  REQUIRE(nodes.asked.size() == 1);
  CHECK(nodes.asked[0].target == "/v1/actors?limit=2");
  CHECK(nodes.asked[0].client == "an operator");
  const Duration left = nodes.deadlines[0] - nodes.game.two->core().now();
  CHECK(left < 5s);
  CHECK(left > 4s);
}

TEST_CASE("a refusal of the node that was asked keeps its kind and text") {
  AskingNodes nodes;
  nodes.answer = fail(Error::not_found("nobody of that name"));
  const auto outcome = nodes.ask("/v1/actors/anna");
  nodes.game.run_for(100ms);
  REQUIRE(outcome->has_value());
  check_error(**outcome, ErrorKind::NotFound, "nobody of that name");
}

TEST_CASE("a node that answers no operators says so") {
  TwoNodes game;
  meet(game);
  auto outcome = std::make_shared<std::optional<Result<InquiryAnswer>>>();
  Core& core = game.one->core();
  core.strand.post([&] {
    core.inquiries->ask(game.two->self(), {"/v1/actors", ""}, core.now() + 5s,
                        [outcome](Result<InquiryAnswer> answer) { *outcome = std::move(answer); });
  });
  game.run_for(100ms);
  REQUIRE(outcome->has_value());
  check_error(**outcome, ErrorKind::NotConfigured, "answers no operators");
}

TEST_CASE(
    "a question whose answer does not come ends at its deadline, and a late answer is dropped",
    "[MESH-02]") {
  AskingNodes nodes;
  const auto outcome = nodes.ask("/v1/actors", 300ms);
  nodes.game.run_for(299ms);
  CHECK_FALSE(outcome->has_value());
  nodes.game.run_for(2ms);
  REQUIRE(outcome->has_value());
  check_error(**outcome, ErrorKind::DeadlineExceeded, "has not answered in time");
  REQUIRE(nodes.unanswered.size() == 1);
  nodes.unanswered[0](InquiryAnswer{});
  nodes.game.run_for(100ms);
}

TEST_CASE("a question to a node that cannot be reached ends at its deadline, and with that run") {
  AskingNodes nodes;
  nodes.answer = InquiryAnswer{};
  nodes.game.part();
  const auto late = nodes.ask("/v1/actors", 1s);
  const auto ended = nodes.ask("/v1/actors", 60s);
  nodes.game.run_for(1001ms);
  REQUIRE(late->has_value());
  check_error(**late, ErrorKind::DeadlineExceeded, "in time");
  nodes.game.one->mesh().end(nodes.game.two->self(), Error::unavailable("it was fenced"));
  nodes.game.run_for(10ms);
  REQUIRE(ended->has_value());
  check_error(**ended, ErrorKind::Unavailable, "it was fenced");
}

TEST_CASE("an answer longer than a message between nodes is refused with both sizes") {
  AskingNodes nodes;
  nodes.answer = InquiryAnswer{{std::string(limits::mesh_message_bytes, 'x')}, {}};
  const auto outcome = nodes.ask("/v1/actors");
  nodes.game.run_for(100ms);
  REQUIRE(outcome->has_value());
  check_error(**outcome, ErrorKind::CapacityExceeded, "ask for fewer rows");
}

TEST_CASE("a node answers so many questions of operators at once, and takes more when some are") {
  AskingNodes nodes;
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i <= Inquiries::under_way_most; ++i) {
    outcomes.push_back(nodes.ask("/v1/actors", 60s));
  }
  nodes.game.run_for(200ms);
  CHECK(nodes.unanswered.size() == Inquiries::under_way_most);
  REQUIRE(outcomes.back()->has_value());
  check_error(**outcomes.back(), ErrorKind::Unavailable, "already");
  for (const auto& done : nodes.unanswered) done(InquiryAnswer{});
  nodes.game.run_for(200ms);
  for (std::size_t i = 0; i < Inquiries::under_way_most; ++i) {
    REQUIRE(outcomes[i]->has_value());
    CHECK((*outcomes[i])->has_value());
  }
  nodes.answer = InquiryAnswer{};
  const auto again = nodes.ask("/v1/actors");
  nodes.game.run_for(100ms);
  CHECK(again->value().has_value());
}
